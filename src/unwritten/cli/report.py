"""``unwritten report RUN...``: one page with everything that evaluations found, and tables for a paper."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from unwritten.config import whole_number
from unwritten.errors import UnwrittenError, UsageError

if TYPE_CHECKING:
    from unwritten.readers.network import CtcNetwork
    from unwritten.report.inputs import Run
    from unwritten.types import Clip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directory of evaluate.py")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="the page, e.g. report.html")
    parser.add_argument("--title", default="", help="of the page (default: made from the benchmarks)")
    parser.add_argument(
        "--items", type=int, default=60, metavar="N", help="items in the gallery at most, 0 for none (default: 60)"
    )
    parser.add_argument("--no-media", action="store_true", help="gallery without frames, ink, sound and emissions")
    parser.add_argument(
        "--root", type=Path, metavar="DIR", help="where the clips lie now (default: where the run found them)"
    )
    parser.add_argument("--checkpoint", type=Path, metavar="FILE", help="for the emissions (default: the run's)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the score tables as Markdown")
    parser.add_argument("--latex", type=Path, metavar="FILE", help="also write the score tables as LaTeX")


def run(arguments: argparse.Namespace) -> int:
    """Write the page and the tables.

    Raises:
        UsageError: a negative number of items, or nothing to write.
        UnwrittenError: a run cannot be read, or a file cannot be written.
    """
    if arguments.items < 0:
        raise UsageError(f"--items {arguments.items}: give 0 or more")
    if not (arguments.output or arguments.markdown or arguments.latex):
        raise UsageError("nothing to write: give -o report.html, --markdown FILE or --latex FILE")
    from unwritten.files import whole_file
    from unwritten.report.gallery import GallerySettings
    from unwritten.report.inputs import read_results
    from unwritten.report.page import write_page
    from unwritten.report.papers import latex, markdown

    results = read_results(arguments.runs)
    for path, make in ((arguments.markdown, markdown), (arguments.latex, latex)):
        if path is not None:
            with whole_file(path) as temporary:
                temporary.write_text(make(results), encoding="utf-8")
            print(path)
    if arguments.output is not None:
        settings = GallerySettings(items=arguments.items, media=not arguments.no_media)
        loader = _Loader(arguments.root, arguments.checkpoint)
        print(write_page(results, arguments.output, settings, loader, arguments.title))
    return 0


class _Loader:
    """Finds the clips and the network of a run again, from its configuration."""

    def __init__(self, root: Path | None, checkpoint: Path | None) -> None:
        self.root = root
        self.checkpoint = checkpoint

    def __call__(self, run: Run) -> tuple[list[Clip], CtcNetwork | None]:
        """The run's clips, and its network where a reader used one.

        Raises:
            UnwrittenError: the configuration is missing or the clips are.
        """
        from omegaconf import OmegaConf

        from unwritten.evaluation.items import load_benchmark

        node = run.config.get("benchmark")
        if not isinstance(node, dict):
            raise UnwrittenError(f"{run.path / 'config.yaml'}: names no benchmark; run evaluate.py again")
        node = dict(node)
        if self.root is not None and node.get("root"):
            node["root"] = str(self.root)
        seed = whole_number(run.config.get("seed") or 0, f"{run.path / 'config.yaml'}: seed")
        clips = load_benchmark(OmegaConf.create(node), seed)
        return clips, self._network(run)

    def _network(self, run: Run) -> CtcNetwork | None:
        from unwritten.models.checkpoint import default_checkpoint
        from unwritten.readers.network import CtcNetwork

        nodes = [node for node in run.readers.values() if node.get("kind") == "ctc"]
        own = next((node["checkpoint"] for node in nodes if node.get("checkpoint")), None)
        path = self.checkpoint or Path(own or default_checkpoint())
        if self.checkpoint is None and (not nodes or not path.is_file()):
            return None
        return CtcNetwork(path)
