from __future__ import annotations

import os
import threading
from pathlib import Path

from nautilus_cli.toolchain import processes

ENVIRONMENT = {"PATH": os.environ.get("PATH", "")}


def is_alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_a_command_says_what_it_said(tmp_path: Path) -> None:
    done = processes.call(("sh", "-c", "echo out; echo err >&2; pwd; exit 3"), cwd=tmp_path, environment=ENVIRONMENT)
    assert (done.returncode, done.stdout, done.stderr) == (3, f"out\n{tmp_path}\n", "err\n")


def test_stopping_reaches_the_children_of_a_command(tmp_path: Path) -> None:
    fifo = tmp_path / "child"
    os.mkfifo(fifo)
    script = "sleep 600 & echo $! > child; wait"  # as a compiler driver waits for its compiler
    ended: list[int] = []
    thread = threading.Thread(
        target=lambda: ended.append(processes.call(("sh", "-c", script), cwd=tmp_path, environment=ENVIRONMENT).returncode)
    )
    thread.start()
    child = int(fifo.read_text())
    assert is_alive(child)
    processes.stop_all()
    thread.join()
    assert ended == [-9]
    while is_alive(child):  # the kernel has yet to take it away
        pass
