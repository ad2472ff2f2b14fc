"""An image can be unloaded, used by several threads at once, and used in a child of fork."""

from __future__ import annotations

import ctypes
import os
import shutil
import threading
from pathlib import Path

import numpy as np

from tests.emulated.executor import Image, Mode
from tests.support.alive import comes, os_threads


def launch_something(image: Image) -> bool:
    """Run a kernel on enough threads for every worker; return whether the result is right."""
    x = np.ones((200, 300), np.float32)
    sums = np.zeros(200, np.float32)
    image.launch("row_sum", x, sums, grid=(200, 1, 1), block=(256, 1, 1), scalars=(300,), shared_bytes=32)
    return bool((sums == 300).all())


def test_unloading_ends_the_workers_and_frees_the_image(executor_image: Image, tmp_path: Path) -> None:
    before = os_threads()
    copy = tmp_path / "copy.so"
    shutil.copy(executor_image.library._name, copy)
    image = Image(copy)
    image.configure(Mode(threads=4))
    assert launch_something(image)
    workers = os_threads() - before
    assert len(workers) == 3
    close = ctypes.CDLL(None).dlclose
    close.argtypes = (ctypes.c_void_p,)
    assert close(image.library._handle) == 0
    assert comes(lambda: not workers & os_threads(), 60)
    assert str(copy) not in Path("/proc/self/maps").read_text()


def test_launches_from_several_threads(executor_image: Image) -> None:
    executor_image.configure(Mode(threads=2))
    right: list[bool] = []
    threads = [threading.Thread(target=lambda: right.extend(launch_something(executor_image) for _ in range(5))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 20


def test_a_child_of_fork_has_workers_of_its_own(executor_image: Image) -> None:
    executor_image.configure(Mode(threads=2))
    assert launch_something(executor_image)
    child = os.fork()
    if child == 0:
        right = False
        try:
            right = launch_something(executor_image) and len(os_threads()) == 2
        finally:
            os._exit(0 if right else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
