"""Score readers on a benchmark: ``evaluate.py reader=[ctc,blind-random] benchmark=unwritten benchmark.root=DIR``.

Without arguments the shipped checkpoint and the blind readers read words of simulated writers. The run directory holds
``answers.parquet``, ``scores.json``, ``analysis.json``, the composed configuration and the versions of everything.
A run that was stopped goes on with the same command and the same ``hydra.run.dir=DIR``; a directory that holds the
scores of other settings is refused. ``answers=FILE`` scores stored answers again, without any model. The same from
anywhere is ``unwritten evaluate``.
"""

import sys

from unwritten.evaluation.evaluate import evaluate
from unwritten.run import command_line

if __name__ == "__main__":
    sys.exit(command_line("evaluate.py", evaluate, sys.argv[1:]))
