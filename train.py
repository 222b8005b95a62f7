"""Train the baseline: ``python train.py experiment=quickstart``, or ``python train.py data.corpora=[FILE,...]``.

The run directory holds ``checkpoints/best.ckpt`` (what readers load), ``checkpoints/last.ckpt``, the composed
configuration, the versions of everything and the scores. A run that was stopped goes on with the same command and
``hydra.run.dir=THE_SAME``. The same from anywhere is ``unwritten train``.
"""

import sys

from unwritten.run import command_line
from unwritten.training.train import train

if __name__ == "__main__":
    sys.exit(command_line("train.py", train, sys.argv[1:]))
