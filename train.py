"""Train the baseline: ``python train.py experiment=quickstart``, or ``python train.py data.corpora=[FILE,...]``.

The run directory holds ``checkpoints/best.ckpt`` (what readers load), ``checkpoints/last.ckpt``, the composed
configuration, the versions of everything and the scores. A run that was stopped goes on with the same command and
``hydra.run.dir=THE_SAME``.
"""

import sys

import hydra
from omegaconf import DictConfig

from unwritten.run import command_line, task
from unwritten.training.train import train


@hydra.main(version_base="1.3", config_path="conf", config_name="train")
def main(config: DictConfig) -> float:
    return task("train.py", train)(config)


if __name__ == "__main__":
    sys.exit(command_line("train.py", main))
