"""The items of a benchmark that a configuration names: simulated, from handwriting, or files."""

from __future__ import annotations

from omegaconf import DictConfig

from unwritten.config import place, real_number, settings_from, whole_number
from unwritten.errors import UnwrittenError, UsageError
from unwritten.types import Clip

BENCHMARKS = ("simulated", "unwritten", "handwriting")


def load_benchmark(node: DictConfig, seed: int = 0) -> list[Clip]:
    """The items of a benchmark, from its node of the configuration.

    Args:
        node: ``kind`` and what that kind needs; ``unwritten`` takes ``root``, in ``patterns`` how names are read, in
            ``truth`` a folder of what was marked on the clips, and with ``letter_shots`` every shot as an item too.
        seed: of every random choice.

    Raises:
        UsageError: an unknown kind, or no root where one is needed.
        UnwrittenError: nothing is there to read.
    """
    kind = node.get("kind")
    if kind not in BENCHMARKS:
        raise UsageError(f"benchmark.kind={kind}: known are {', '.join(BENCHMARKS)}")
    limit = None if node.get("limit") is None else whole_number(node.limit, "benchmark.limit", least=1)
    severity = str(node.get("severity") or "measured")
    if kind == "simulated":
        from unwritten.simulation.clips import simulated_writers_benchmark

        return simulated_writers_benchmark(limit=limit or 60, seed=seed, severity_name=severity)
    root = node.get("root")
    if not root:
        raise UsageError(f"benchmark={kind} needs benchmark.root=DIR, where its files lie")
    root = place(root, "benchmark.root")
    if kind == "handwriting":
        from unwritten.simulation.clips import load_handwriting_benchmark

        held_share = real_number(node.get("held_share") or 0.0, "benchmark.held_share", high=1.0)
        category = None if node.get("category") is None else str(node.category)
        return load_handwriting_benchmark(
            root, str(node.get("condition") or "live"), limit, severity, seed, held_share, category
        )
    from unwritten.benchmark import ClipPatterns, find_clips

    clips = find_clips(root, settings_from(ClipPatterns, node.get("patterns"), "benchmark.patterns"))
    wanted = node.get("sources")
    if wanted:
        clips = [clip for clip in clips if clip.source in wanted]
        if not clips:
            raise UnwrittenError(f"{root}: holds no clip of source {' or '.join(wanted)}; leave out benchmark.sources")
    clips = clips[:limit]
    if node.get("truth"):
        from unwritten.benchmark.truth import with_truth

        clips = with_truth(clips, node.truth)
    if node.get("letter_shots"):
        from unwritten.recordings.shots import letter_shots

        clips += letter_shots(clips)
    return clips
