"""Letter clips, synthesis, manifest, protocols and splits, audit."""

from unwritten.benchmark.letters import ClipPatterns, Found, find_clips, search
from unwritten.benchmark.manifest import Item, letter_id, letters_used, read_manifest, write_manifest

__all__ = [
    "ClipPatterns",
    "Found",
    "Item",
    "find_clips",
    "letter_id",
    "letters_used",
    "read_manifest",
    "search",
    "write_manifest",
]
