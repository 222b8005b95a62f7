"""UNIPEN, IAM-OnDB and InkML readers and simulated writers: all give Strokes."""

from unwritten.handwriting.corpus import HandwritingCorpus, load_npz

__all__ = ["HandwritingCorpus", "load_npz"]
