"""Processes that do one task after another, and may hang or crash while they do."""

from __future__ import annotations

import multiprocessing
import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any


class Lost(Exception):
    """A task whose process hung or died; the message says which."""


class _Worker:
    """One process and what it is doing."""

    def __init__(self, work: Callable[[Any], Any], is_forked: bool) -> None:
        context = multiprocessing.get_context("fork") if is_forked else multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(work, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.task: Any = None
        self.deadline = 0.0

    def give(self, task: Any, timeout_s: float) -> None:
        self.task, self.deadline = task, time.monotonic() + timeout_s
        self.connection.send(task)

    def stop(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


def each(
    work: Callable[[Any], Any], tasks: Sequence[Any], *, processes: int, timeout_s: float, is_forked: bool = True
) -> Iterator[tuple[Any, Any]]:
    """Yield (task, what WORK gives for it) as they end; the result is an exception where WORK raised or its process was lost.

    Args:
        work: called in another process.
        tasks: sent to it.
        processes: how many at once.
        timeout_s: longest time of one task.
        is_forked: whether a process begins as a copy of this one, and so has at once what WORK refers to. A copy cannot use a CUDA
            driver that was started here; where that matters, WORK is sent to a process that begins anew.
    """
    waiting = list(reversed(tasks))
    idle: list[_Worker] = []
    busy: list[_Worker] = []
    try:
        while waiting or busy:
            while waiting and len(busy) < processes:
                worker = idle.pop() if idle else _Worker(work, is_forked)
                worker.give(waiting.pop(), timeout_s)
                busy.append(worker)
            soonest = min(worker.deadline for worker in busy)
            ready = wait([worker.connection for worker in busy], max(0.0, soonest - time.monotonic()))
            for worker in list(busy):
                late = time.monotonic() > worker.deadline
                if worker.connection not in ready and not late:
                    continue
                busy.remove(worker)
                try:
                    if worker.connection not in ready:
                        raise Lost(f"took longer than {timeout_s:.0f} s")
                    result = worker.connection.recv()
                except (EOFError, OSError):
                    worker.process.join()
                    result = Lost(f"the process died: exit status {worker.process.exitcode}")
                    worker.stop()
                except Lost as lost:
                    result = lost
                    worker.stop()
                else:
                    idle.append(worker)
                yield worker.task, result
    finally:
        for worker in (*idle, *busy):
            worker.stop()


def _serve(work: Callable[[Any], Any], connection: Connection) -> None:
    """Do tasks until the other end closes."""
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            os._exit(0)
        try:
            result = work(task)
        except Exception as error:
            # A name and a text always travel; an exception of another's making need not.
            result = RuntimeError(f"{type(error).__name__}: {error}\n{traceback.format_exc()}")
        connection.send(result)
