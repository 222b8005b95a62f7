"""What a run prints below its score table, each section only where there is something to say."""

from __future__ import annotations

import pandas as pd

from unwritten.benchmark.protocols import PUBLIC_LETTERS
from unwritten.scoring.analysis import Analysis
from unwritten.scoring.breakdown import format_parts
from unwritten.scoring.items import format_items, table_of_items
from unwritten.scoring.ladder import format_ladders
from unwritten.scoring.mllm import FREQUENT
from unwritten.scoring.oracle import format_oracle
from unwritten.scoring.segments import format_letter_times
from unwritten.scoring.text import format_answering, format_fusion


def format_analysis(analysis: Analysis, table: pd.DataFrame, margin: float) -> str:
    """All sections, with a line that says what each is.

    Args:
        analysis: of the table.
        table: the cleaned answers.
        margin: of fusion's non-inferiority.
    """
    sections: list[str] = []
    answering = format_answering(analysis.scores)
    if answering:
        sections.append(
            "How readers answered that can fail to, in percent. Lost: items that never reached the reader. Present:\n"
            "precision, recall and F1 of one word of the right length. OLA over all items, and over answered ones.\n"
            "Entropy: over the most that so many answers could have. Frequent: answers (true words) among the\n"
            f"{FREQUENT} most frequent words.\n{answering}"
        )
    fusion = format_fusion(analysis.fusion)
    if fusion:
        sections.append(
            "Audio and video together against the better of the two, in points of OLA. No worse: the bound, which\n"
            f"holds whichever of the two is truly better, lies above {-100 * margin:+g}.\n{fusion}"
        )
    private = [part for part in analysis.parts if (part.by, part.value) == ("public", "not shown")]
    private = [part for part in private if not part.reader.startswith("blind-")]
    if private:
        shown = ", ".join(sorted(PUBLIC_LETTERS))
        sections.append(f"Letters that no public clip shows (all but {shown})\n{format_parts(private)}")
    for own in analysis.oracle:
        head = (
            f"What the truth of each step is worth to {own.reader}, {own.modality}, {own.benchmark}, in points of OLA"
        )
        sections.append(f"{head}\n{format_oracle(own.steps)}")
    climbed = format_ladders(analysis.ladders)
    if climbed:
        sections.append(
            "Where a model fails: each rung gives more beside the clip; gain over the rung before, in points of OLA.\n"
            "It recovers at the first that it reads better than blind guessing, or than the rung before where nothing\n"
            f"guessed blind.\n{climbed}"
        )
    if analysis.letter_times:
        head = "When each letter was written: temporal mAP of the letter times, and with any letter at the right time"
        sections.append(f"{head}\n{format_letter_times(analysis.letter_times)}")
    items = format_items(table_of_items(table))
    if items:
        sections.append(f"Item by item, with the rank of the truth among all that it was chosen from\n{items}")
    return "".join(f"\n{section}\n" for section in sections)
