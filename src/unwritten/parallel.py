"""Work dealt out to processes that end with their parent, whatever ends it."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from unwritten.errors import UnwrittenError

Job = TypeVar("Job")
Result = TypeVar("Result")


def run_jobs(
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    processes: int = 1,
    describe: str = "working",
    unit: str = "job",
    progress: bool = True,
) -> Iterator[tuple[int, Result]]:
    """Run ``function`` on every job and give (number of the job, result) as each is done, in no order that matters.

    Args:
        function: a function at the top of a module, or a partial of one: it travels to other processes.
        jobs: what to run it on.
        processes: how many to work with; 1 stays in this one.
        describe, unit: words of the progress bar.
        progress: show a bar.

    Raises:
        UnwrittenError: a process was killed, most often for want of memory.
    """
    from tqdm import tqdm

    with tqdm(total=len(jobs), desc=describe, unit=unit, disable=not progress) as bar:
        if processes <= 1 or len(jobs) <= 1:
            for number, job in enumerate(jobs):
                yield number, function(job)
                bar.update()
            return
        # Spawned, not forked: the parent's threads (torch, OpenMP) do not survive a fork.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(processes, len(jobs)), context, initializer=_end_with_parent) as executor:
            futures = {executor.submit(function, job): number for number, job in enumerate(jobs)}
            try:
                for future in as_completed(futures):
                    yield futures[future], future.result()
                    bar.update()
            except BrokenProcessPool as error:
                raise UnwrittenError(
                    f"{describe}: a process was killed, perhaps for want of memory; run again with fewer processes, "
                    "what is finished is kept"
                ) from error
            finally:
                executor.shutdown(wait=False, cancel_futures=True)


def _end_with_parent() -> None:
    """Exit when the parent is gone: after its kill -9 nobody would take a child off the queue it waits at."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
