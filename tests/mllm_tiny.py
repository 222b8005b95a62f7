"""A tiny randomly initialised model of Qwen2.5-Omni's class, laid out as published ones are; nothing is downloaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

SPECIAL = ["IMAGE", "AUDIO", "VIDEO", "vision_bos", "vision_eos", "audio_bos", "audio_eos", "im_start", "im_end"]
# Laid out as the published model's: one file holds what the ear and the eye need.
PREPROCESSOR = {
    "processor_class": "Qwen2_5OmniProcessor",
    "feature_extractor_type": "WhisperFeatureExtractor",
    "image_processor_type": "Qwen2VLImageProcessor",
    "feature_size": 8,
    "sampling_rate": 16000,
    "n_fft": 400,
    "hop_length": 160,
    "chunk_length": 30,
    "padding_side": "right",
    "return_attention_mask": True,
    "patch_size": 14,
    "temporal_patch_size": 2,
    "merge_size": 2,
    "min_pixels": 56 * 56,
    "max_pixels": 56 * 112,
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
}


# The format of the published model: a system turn where a conversation has none, then turns between marks.
TEMPLATE = """\
{%- for turn in messages -%}
{%- if loop.first and turn.role != 'system' -%}
{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}
{%- endif -%}
{{ '<|im_start|>' + turn.role + '\n' }}
{%- for part in turn.content -%}
{%- if part.type == 'text' -%}{{ part.text }}
{%- elif part.type == 'audio' -%}{{ '<|audio_bos|><|AUDIO|><|audio_eos|>' }}
{%- elif part.type == 'video' -%}{{ '<|vision_bos|><|VIDEO|><|vision_eos|>' }}
{%- elif part.type == 'image' -%}{{ '<|vision_bos|><|IMAGE|><|vision_eos|>' }}
{%- endif -%}
{%- endfor -%}
{{ '<|im_end|>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%}
"""


def tiny_tokenizer() -> Any:
    """A tokenizer of bytes that knows the model's marks, by the names that its processor looks for."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "ca"]
    tokens = Tokenizer(models.BPE(vocab={token: row for row, token in enumerate(alphabet)}, merges=[("c", "a")]))
    tokens.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokens.decoder = decoders.ByteLevel()
    named = {f"{name.lower()}_token": f"<|{name}|>" for name in SPECIAL if not name.startswith("im_")}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tokens, eos_token="<|im_end|>", pad_token="<|im_end|>", extra_special_tokens=named
    )
    tokenizer.add_tokens([f"<|{name}|>" for name in SPECIAL], special_tokens=True)
    return tokenizer


def save_tiny_processor(folder: Path) -> None:
    """Tokenizer, the format of conversations, and the settings of ear and eye."""
    tiny_tokenizer().save_pretrained(folder)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    (folder / "preprocessor_config.json").write_text(json.dumps(PREPROCESSOR))


def save_tiny_model(folder: Path) -> Path:
    """A folder laid out as a published one, with weights of 50,000 numbers drawn at random."""
    import transformers

    save_tiny_processor(folder)
    tokenizer = tiny_tokenizer()
    number = tokenizer.convert_tokens_to_ids
    config = transformers.models.qwen2_5_omni.configuration_qwen2_5_omni.Qwen2_5OmniThinkerConfig(
        audio_config={
            "num_mel_bins": 8,
            "encoder_layers": 1,
            "encoder_attention_heads": 2,
            "encoder_ffn_dim": 16,
            "d_model": 16,
            "output_dim": 32,
        },
        vision_config={
            "depth": 1,
            "hidden_size": 16,
            "intermediate_size": 16,
            "num_heads": 2,
            "out_hidden_size": 32,
            "fullatt_block_indexes": [0],
        },
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 1,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]},
        },
        audio_token_index=number("<|AUDIO|>"),
        image_token_index=number("<|IMAGE|>"),
        video_token_index=number("<|VIDEO|>"),
        audio_start_token_id=number("<|audio_bos|>"),
        audio_end_token_id=number("<|audio_eos|>"),
        vision_start_token_id=number("<|vision_bos|>"),
        vision_end_token_id=number("<|vision_eos|>"),
    )
    torch.manual_seed(0)
    transformers.Qwen2_5OmniThinkerForConditionalGeneration(config).save_pretrained(folder)
    return folder
