"""Compilers side by side. Threads do: NVRTC releases the interpreter lock, the host compiler is another process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from nautilus_cli.toolchain import processes

Item = TypeVar("Item")
Result = TypeVar("Result")


def default_jobs() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def run_all(work: Callable[[Item], Result], items: Sequence[Item], jobs: int) -> list[Result]:
    """Return the results in order of the items.

    What has not been started is dropped at the first failure or interruption, which is raised.
    """
    if jobs == 1 or len(items) < 2:
        return [work(item) for item in items]
    is_over = threading.Event()
    with ThreadPoolExecutor(jobs, initializer=processes.obey, initargs=(is_over,)) as pool:
        try:
            pending = [pool.submit(work, item) for item in items]
            return [task.result() for task in pending]
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            if not isinstance(error, Exception):  # Ctrl-C: the threads wait for compilers, which would run on for minutes
                processes.stop(is_over)
            raise
