"""Where a number came from: what every run directory records, and how a script says what went wrong in one line."""

from __future__ import annotations

import argparse
import errno
import functools
import importlib.metadata
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from unwritten.config import choices
from unwritten.errors import UnwrittenError, UsageError
from unwritten.files import project_root, whole_file
from unwritten.revision import revision

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk, the user's share of it, or one file's is used up


def record_run(config: DictConfig, run_dir: Path | str) -> None:
    """Write ``config.yaml`` (composed and resolved) and ``provenance.json`` (versions, git revision, command).

    Raises:
        UnwrittenError: the run directory cannot be written.
    """
    run_dir = Path(run_dir)
    with whole_file(run_dir / "config.yaml") as temporary:
        temporary.write_text(OmegaConf.to_yaml(config, resolve=True), encoding="utf-8")
    with whole_file(run_dir / "provenance.json") as temporary:
        temporary.write_text(json.dumps(provenance(), indent=1) + "\n", encoding="utf-8")


def refuse_other_settings(config: DictConfig, run_dir: Path | str, result: str, free: Iterable[str] = ()) -> None:
    """Do not let a run replace the result of another one that lies in the same directory.

    Args:
        config: of the run that begins.
        run_dir: where it is to write.
        result: file that tells that a run has left something there: its end, or a checkpoint to go on from.
        free: patterns of the settings, such as ``reader.*.limits.*``, that change no result.

    Raises:
        UsageError: the directory holds the result of a run with other settings.
    """
    run_dir = Path(run_dir)
    if not (run_dir / result).is_file() or not (run_dir / "config.yaml").is_file():
        return
    before = _flat(_composed(run_dir / "config.yaml"))
    now = _flat(OmegaConf.to_container(config, resolve=True))
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    names = [name for name in names if not any(fnmatch(name, pattern) for pattern in free)]
    if names:
        named = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        raise UsageError(
            f"{run_dir}: holds {result} of a run with other settings ({named}); choose another hydra.run.dir"
        )


def _composed(path: Path) -> Any:
    try:
        return OmegaConf.to_container(OmegaConf.load(path))
    except (OSError, ValueError, yaml.YAMLError, OmegaConfBaseException) as error:
        raise UnwrittenError(
            f"{path}: cannot be read as a configuration ({one_line(error)[:100]}); choose another hydra.run.dir"
        ) from error


def _flat(node: Any, name: str = "") -> dict[str, Any]:
    """A tree of settings as one level, ``reader.ctc.mode``; an empty branch is a value."""
    if not isinstance(node, dict) or not node:
        return {name: node}
    found: dict[str, Any] = {}
    for key, value in node.items():
        found |= _flat(value, f"{name}.{key}" if name else str(key))
    return found


def provenance() -> dict[str, Any]:
    """What a run was made with: time, command, git revision, Python, machine, versions of all packages."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "git": revision(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "packages": package_versions(),
    }


def package_versions() -> dict[str, str]:
    """Version of every installed package, by name."""
    found = {
        str(name).lower(): distribution.version
        for distribution in importlib.metadata.distributions()
        # A half-removed package has metadata without a name.
        if (name := distribution.metadata["Name"])
    }
    return dict(sorted(found.items()))


def one_line(error: BaseException) -> str:
    """An error's message without line breaks."""
    return " ".join(str(error).split()) or type(error).__name__


def refuse_no_names(overrides: Sequence[str]) -> None:
    """Refuse ``model=null`` and ``model=3``, at which Hydra ends in a traceback: a group takes names.

    Raises:
        UsageError: an override gives a group something else.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser

    for override in OverridesParser.create().parse_overrides(list(overrides)):
        listed, value = choices(override.key_or_group), override.value()
        named = isinstance(value, str | list) or override.is_sweep_override() or override.is_delete()
        if listed and not named:
            raise UsageError(f"{override.input_line}: give one of {', '.join(listed)}")


def hydra_error_line(error: BaseException) -> str:
    """Hydra's message in one line: what was not found and what there is."""
    message = str(error).split("Config search path")[0]
    lost = re.search(r"Could not load '(.+)/[^/']*'", message)
    if lost:
        message = f"{message.rstrip()} Known are {', '.join(choices(lost[1]))}"
    message = re.sub(r"^In '[^']*': ", "", message)
    return " ".join(message.split())


def command_line(program: str, function: Callable[[DictConfig], Any], argv: Sequence[str]) -> int:
    """Compose ``conf/NAME.yaml`` with overrides, run a function of it, and give the exit status.

    Args:
        program: what was called, for messages.
        function: what a configuration is handed to; NAME is its module's.
        argv: Hydra's arguments: overrides, ``-m``, ``--cfg job``, ``--config-dir DIR``, ``--help`` and so on.

    Returns:
        0 done, 1 the work could not be done, 2 bad usage, 130 interrupted.
    """
    from hydra import version
    from hydra._internal.utils import _run_hydra  # hydra.main reads sys.argv, which holds our subcommand too
    from hydra.errors import HydraException

    # Otherwise Hydra prints errors of its own over many lines and exits with status 1 whatever happened.
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")
    version.setbase("1.3")
    parser = hydra_parser(program)
    try:
        arguments = parser.parse_args(argv)
        if arguments.experimental_rerun is not None:
            raise UsageError("--experimental-rerun: is not offered; give the overrides that the run directory lists")
        refuse_no_names(arguments.overrides)
        _run_hydra(
            args=arguments,
            args_parser=parser,
            task_function=task(program, function),
            config_path=str(project_root() / "conf"),
            config_name=function.__module__.rpartition(".")[2],
        )
    except UnwrittenError as error:
        print(f"{program}: {one_line(error)}", file=sys.stderr)
        return error.exit_status
    except HydraException as error:
        print(f"{program}: {hydra_error_line(error)}", file=sys.stderr)
        return 2
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        # Hydra makes the run directory before anything of ours runs.
        named = f"{error.filename}: " if error.filename else ""
        print(f"{program}: {named}{error.strerror or one_line(error)}; choose another hydra.run.dir", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{program}: interrupted before anything was done", file=sys.stderr)
        return 130
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return 0


def hydra_parser(program: str) -> argparse.ArgumentParser:
    """Hydra's parser of arguments, under the name of the program.

    Hydra 1.3 writes one of its help texts when it is shown, which is no text yet for Python 3.14: there argparse reads
    a help text as it is added, and refuses this one.
    """
    from hydra._internal.utils import get_args_parser

    argparse.ArgumentParser._check_help = lambda *_: None  # type: ignore[attr-defined]
    try:
        parser = get_args_parser()
    finally:
        del argparse.ArgumentParser._check_help  # type: ignore[attr-defined]
    parser.prog, parser.usage = program, argparse.SUPPRESS  # an error is one line
    return parser


def task(program: str, function: Callable[[DictConfig], Any]) -> Callable[[DictConfig], Any]:
    """Wrap what Hydra runs, so that an error a person can act on is one line and not Hydra's traceback."""

    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    @functools.wraps(function)  # Hydra names the job and its log after the module that this comes from
    def run(config: DictConfig) -> Any:
        try:
            return function(config)
        except UnwrittenError as error:
            if HydraConfig.get().mode == RunMode.MULTIRUN:
                raise  # Hydra keeps it until the other jobs are done
            print(f"{program}: {one_line(error)}", file=sys.stderr)
            raise SystemExit(error.exit_status) from error
        except BrokenPipeError as error:
            # Whoever read the table has seen enough of it; the files are written.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(1) from error
        except OSError as error:
            if error.errno not in _FULL:
                raise
            named = error.filename or HydraConfig.get().runtime.output_dir
            print(f"{program}: {named}: cannot be written ({error.strerror}); free some space", file=sys.stderr)
            raise SystemExit(1) from error
        except KeyboardInterrupt as error:
            run_dir = HydraConfig.get().runtime.output_dir
            print(f"{program}: interrupted; add hydra.run.dir={run_dir} to the same command to go on", file=sys.stderr)
            raise SystemExit(130) from error

    return run
