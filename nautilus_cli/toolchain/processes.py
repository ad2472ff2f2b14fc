"""Compilers as child processes that do not outlive an interruption.

A compiler driver starts compilers of its own, so each child leads a process group, which is stopped as a whole.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from nautilus_cli.errors import Interrupted

_lock = threading.Lock()
_running: set[int] = set()
_thread = threading.local()


def call(command: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and return what it said; an exception that comes between stops it and its children.

    Ctrl-C raises in the main thread, wherever that is: inside Popen too, which would leave a process that nobody knows. So the main thread
    only waits, for a thread that nothing interrupts.
    """
    if threading.current_thread() is not threading.main_thread():
        return _call(command, cwd, environment)
    is_over = threading.Event()
    with ThreadPoolExecutor(1, initializer=obey, initargs=(is_over,)) as thread:
        task = None
        try:
            task = thread.submit(_call, command, cwd, environment)
            return task.result()
        except BaseException:
            if task is None or not task.done():  # a command that cannot begin stops none of other threads
                stop(is_over)
            raise


def obey(is_over: threading.Event) -> None:
    """Let `stop` end what this thread calls."""
    _thread.is_over = is_over


def stop(is_over: threading.Event) -> None:
    """Stop the running commands, and let threads that obey this event begin no other. Ctrl-C once more asks for nothing else."""
    while True:
        with suppress(KeyboardInterrupt):
            is_over.set()
            return stop_all()


def _call(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    with _lock:  # a command that has begun is known before anyone can ask to stop all
        if (is_over := getattr(_thread, "is_over", None)) and is_over.is_set():
            raise Interrupted("interrupted.")
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
