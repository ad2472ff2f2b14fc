"""Compilers as child processes that do not outlive an interruption.

A compiler driver starts compilers of its own, so each child leads a process group, which is stopped as a whole.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

_POLL_S = 0.01

_lock = threading.Lock()
_running: set[int] = set()


def call(command: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and return what it said; an exception that comes between stops it and its children.

    Ctrl-C raises in the main thread, wherever that is: inside Popen too, which would leave a process that nobody knows. So the main thread
    only waits, for a thread that nothing interrupts.
    """
    if threading.current_thread() is not threading.main_thread():
        return _call(command, cwd, environment)
    with ThreadPoolExecutor(1) as thread:
        task = thread.submit(_call, command, cwd, environment)
        try:
            return task.result()
        except BaseException:
            stop_all_of([task])
            raise


def stop_all_of(tasks: Sequence[Future[Any]]) -> None:
    """Stop every command until these tasks have ended; another Ctrl-C meanwhile asks for nothing else.

    Once would not do: a task may be about to start a command.
    """
    while not all(task.done() for task in tasks):
        with suppress(KeyboardInterrupt):
            stop_all()
            time.sleep(_POLL_S)


def _call(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    with _lock:  # a command that has begun is known before anyone can ask to stop all
        started = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        _running.add(started.pid)
    with started as process:
        try:
            out, err = process.communicate()
        except BaseException:
            _stop(process.pid)
            raise
        finally:
            with _lock:
                _running.discard(process.pid)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def stop_all() -> None:
    """Stop every command that a thread of this process is waiting for."""
    with _lock:
        groups = tuple(_running)
    for group in groups:
        _stop(group)


def _stop(group: int) -> None:
    with suppress(ProcessLookupError):  # it has ended by itself
        os.killpg(group, signal.SIGKILL)
