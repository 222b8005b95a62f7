"""Words, letter clips, synthesis, manifest, protocols and splits, audit."""

from unwritten.benchmark.letters import ClipPatterns, Found, find_clips, search
from unwritten.benchmark.manifest import Item, letter_id, letters_used, read_manifest, write_manifest
from unwritten.benchmark.words import WordList, WordListSettings, word_list

__all__ = [
    "ClipPatterns",
    "Found",
    "Item",
    "WordList",
    "WordListSettings",
    "find_clips",
    "letter_id",
    "letters_used",
    "read_manifest",
    "search",
    "word_list",
    "write_manifest",
]
