"""UNIPEN, IAM-OnDB and InkML readers and simulated writers: all give Strokes."""

from unwritten.handwriting.corpus import HandwritingCorpus, from_strokes, load_npz
from unwritten.handwriting.load import load
from unwritten.handwriting.retrace import retrace
from unwritten.handwriting.traits import WriterSettings
from unwritten.handwriting.travel import lift_pen
from unwritten.handwriting.writers import SimulatedWriter
from unwritten.handwriting.written import WrittenWord

__all__ = [
    "HandwritingCorpus",
    "SimulatedWriter",
    "WriterSettings",
    "WrittenWord",
    "from_strokes",
    "lift_pen",
    "load",
    "load_npz",
    "retrace",
]
