from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nautilus_cli.toolchain import processes
from tests.support.alive import comes, is_alive, stat

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENT = {"PATH": os.environ.get("PATH", "")}

SCRIPT = "sleep 600 & echo $! > child; wait"  # as a compiler driver waits for its compiler

INTERRUPTED = """
import os, signal, subprocess, sys, time
from pathlib import Path
from nautilus_cli.toolchain import pool, processes

Popen = subprocess.Popen

class Slow(Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        subprocess.Popen = Popen
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.5)

signal.signal(signal.SIGINT, signal.default_int_handler)
subprocess.Popen = Slow
try:
    pool.run_all(lambda script: processes.call(("sh", "-c", script), cwd=Path("."), environment=os.environ), sys.argv[2:], int(sys.argv[1]))
except KeyboardInterrupt:
    print("interrupted")
"""
"""Calls one command after another in as many threads as are told; Ctrl-C comes while the first begins."""


def test_a_command_says_what_it_said(tmp_path: Path) -> None:
    done = processes.call(("sh", "-c", "echo out; echo err >&2; pwd; exit 3"), cwd=tmp_path, environment=ENVIRONMENT)
    assert (done.returncode, done.stdout, done.stderr) == (3, f"out\n{tmp_path}\n", "err\n")


def test_stopping_reaches_the_children_of_a_command(tmp_path: Path) -> None:
    fifo = tmp_path / "child"
    os.mkfifo(fifo)
    ended: list[int] = []
    thread = threading.Thread(
        target=lambda: ended.append(processes.call(("sh", "-c", SCRIPT), cwd=tmp_path, environment=ENVIRONMENT).returncode)
    )
    thread.start()
    child = int(fifo.read_text())
    known = stat(child)
    assert known and is_alive(child)
    processes.stop_all()
    thread.join()
    assert ended == [-9]
    assert comes(lambda: not is_alive(child, known[2]), 300)  # the kernel has yet to take it away; it would sleep for 600 s


def test_a_command_that_cannot_begin_stops_no_other(tmp_path: Path) -> None:
    fifo = tmp_path / "child"
    os.mkfifo(fifo)
    ended: list[int] = []
    script = "echo $$ > child; read line < child; exit 7"
    thread = threading.Thread(
        target=lambda: ended.append(processes.call(("sh", "-c", script), cwd=tmp_path, environment=ENVIRONMENT).returncode)
    )
    thread.start()
    fifo.read_text()
    with pytest.raises(FileNotFoundError):
        processes.call(("/nonexistent",), cwd=tmp_path, environment=ENVIRONMENT)
    fifo.write_text("go on\n")
    thread.join()
    assert ended == [7]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interruption_while_a_command_begins_stops_it(jobs: int, tmp_path: Path) -> None:
    """And no other begins."""
    scripts = [f"echo $$ > number{i}; sleep 600" for i in range(3)]
    environment = {**os.environ, "PYTHONPATH": os.fspath(ROOT)}
    command = (sys.executable, "-c", INTERRUPTED, str(jobs), *scripts)
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")
    assert not [path for path in tmp_path.iterdir() if is_alive(int(path.read_text() or 1 << 30))]
