"""Fetch the gated benchmark from Hugging Face with the user's own token; a second run goes on with what is missing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unwritten.benchmark.fetch.download import refuse_unsafe
from unwritten.errors import UnwrittenError, UsageError

REPOSITORY = "RiRi-y/unwritten-benchmark"
HIDDEN = [".[!.]*", "*/.[!.]*"]
"""What a repository keeps for itself, ``.gitattributes`` or worse, is not data."""


def fetch(
    target: Path | str,
    repository: str = REPOSITORY,
    revision: str | None = None,
    token: str | None = None,
    patterns: tuple[str, ...] = (),
    workers: int = 8,
    before: Callable[[int, int], None] | None = None,
) -> Path:
    """Fetch a data set into ``target``; files that are whole already are not fetched again.

    The address is taken from ``HF_ENDPOINT`` where that is set, the token from ``token``, ``HF_TOKEN`` or the file that
    ``hf auth login`` writes, in this order.

    Args:
        target: the folder to fill.
        repository: ``owner/name`` of the data set.
        revision: branch, tag or commit; the newest when None.
        token: a token of the user's own.
        patterns: fetch only files whose paths fit one of these, e.g. ``*standard*``; all when empty.
        workers: how many files to fetch at once.
        before: is told, before anything is fetched, how many files and bytes the data set has.

    Raises:
        UsageError: ``repository`` is no ``owner/name``.
        UnwrittenError: no token, terms not accepted, no such data set or revision, a file whose name leads out of the
            folder, no connection, a web page instead of an answer, or no room on the disk.
    """
    from huggingface_hub import HfApi, get_hf_file_metadata, get_token, hf_hub_url, snapshot_download
    from huggingface_hub.hf_api import RepoFile
    from huggingface_hub.utils import filter_repo_objects

    target = Path(target)
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    token = token or get_token()
    with _explained(repository, revision, endpoint, target, has_token=token is not None):
        # snapshot_download takes a folder that has something in it for whole when the hub refuses or cannot be reached:
        # ask first, and count afterwards.
        api = HfApi(endpoint=endpoint, token=token or False)
        commit = api.dataset_info(repository, revision=revision).sha
        tree = api.list_repo_tree(repository, recursive=True, revision=commit, repo_type="dataset")
        sizes = {entry.path: entry.size for entry in tree if isinstance(entry, RepoFile)}
        wanted = list(filter_repo_objects(sizes, allow_patterns=list(patterns) or None, ignore_patterns=HIDDEN))
        if not wanted:
            raise UnwrittenError(
                f"{repository}: no file fits {' '.join(patterns) or 'the data set'}; it is empty there"
            )
        refuse_unsafe(wanted, repository)
        # The list of a gated data set is public, its files are not: try one before anything is promised.
        url = hf_hub_url(repository, wanted[0], repo_type="dataset", revision=commit, endpoint=endpoint)
        get_hf_file_metadata(url, token=token or False)
        if before is not None:
            before(len(wanted), sum(sizes[name] for name in wanted))
        target.mkdir(parents=True, exist_ok=True)
        snapshot_download(
            repository,
            repo_type="dataset",
            revision=commit,
            local_dir=target,
            token=token or False,
            endpoint=endpoint,
            allow_patterns=list(patterns) or None,
            ignore_patterns=HIDDEN,
            max_workers=workers,
        )
    for name in wanted:
        path = target / name
        if not path.is_file() or path.stat().st_size != sizes[name]:
            raise UnwrittenError(f"{path}: did not arrive whole; run the same command again")
    return target


@contextmanager
def _explained(repository: str, revision: str | None, endpoint: str, target: Path, has_token: bool) -> Iterator[None]:
    """Turn what can go wrong into one line that says what to do."""
    from huggingface_hub import errors

    page = f"{endpoint}/datasets/{repository}"
    try:
        yield
    except errors.GatedRepoError as error:
        if has_token and _status(error) != 401:
            message = f"your account has not accepted its terms; open {page}, accept them, and run this again"
        else:
            message = f"is gated and no valid token was found; {_how_to_get_a_token(page)}"
        raise UnwrittenError(f"{repository}: {message}") from error
    except errors.RevisionNotFoundError as error:
        raise UnwrittenError(f"{repository}: has no revision {revision}; leave it out for the newest") from error
    except errors.RepositoryNotFoundError as error:
        # The hub answers 401 and 404 alike for a data set that a stranger may not see.
        hint = f"check the name, or {_how_to_get_a_token(page)}" if not has_token else "check the name and the token"
        raise UnwrittenError(f"{repository}: was not found at {endpoint}; {hint}") from error
    except errors.HFValidationError as error:
        raise UsageError(f"{repository}: is no data set name; write owner/name") from error
    except errors.HfHubHTTPError as error:
        status = _status(error)
        if status == 401:
            message = f"the token is missing or was refused; {_how_to_get_a_token(page)}"
        elif status == 403:
            message = (
                f"access was refused; open {page}, accept the terms, and use a token that may read gated data sets"
            )
        else:
            message = f"{endpoint} answered {status}; run the same command again to go on where it stopped"
        raise UnwrittenError(f"{repository}: {message}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _no_answer(repository, endpoint) from error
    except OSError as error:
        if error.errno is not None and error.filename is not None:
            reason = os.strerror(error.errno)
            raise UnwrittenError(
                f"{target}: cannot be written ({reason}); choose another place or free space"
            ) from error
        raise _no_connection(repository, endpoint) from error
    except Exception as error:
        # The client's releases differ in the transport below them, and let its errors through.
        if type(error).__module__.partition(".")[0] in ("httpx", "httpx2", "httpcore", "requests", "urllib3"):
            raise _no_connection(repository, endpoint) from error
        raise


def _no_connection(repository: str, endpoint: str) -> UnwrittenError:
    return UnwrittenError(
        f"{repository}: {endpoint} cannot be reached; check the connection and run the same command to go on"
    )


def _no_answer(repository: str, endpoint: str) -> UnwrittenError:
    return UnwrittenError(
        f"{repository}: {endpoint} did not answer as a hub does; sign in to the network, or mend HF_ENDPOINT or proxy"
    )


def _how_to_get_a_token(page: str) -> str:
    return f"accept the terms at {page}, then run `hf auth login` or set HF_TOKEN"


def _status(error: Any) -> int | None:
    response = getattr(error, "response", None)
    return getattr(response, "status_code", None)
