"""Fixtures of the emulator's tests on a device, launched by a process of their own, so that a fault is that of one test."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import numpy as np

from tests.emulated.executor import LaunchError
from tests.emulated.tensor_maps import TensorMap
from tests.gpu.device_worker import Launch, serve

MOST_SECONDS = 60  # of a launch; a fixture takes microseconds, a process begins within a few seconds


class DeviceImage:
    """The fixtures on the first device, with the interface of tests.emulated.executor.Image.

    A kernel that faults or hangs leaves its context unusable, and with it the process: that is ended, and the next launch begins another.

    Args:
        cubins: each with some of the fixtures.
    """

    def __init__(self, cubins: Iterable[bytes]) -> None:
        self._cubins = tuple(cubins)
        self._worker: tuple[BaseProcess, Connection] | None = None

    def launch(
        self,
        name: str,
        *arrays: np.ndarray,
        grid: tuple[int, int, int] = (1, 1, 1),
        block: tuple[int, int, int] = (32, 1, 1),
        scalars: Sequence[int] = (),
        shared_bytes: int = 0,
        maps: Sequence[TensorMap] | None = None,
    ) -> None:
        """Run a fixture on copies of the arrays, and copy them back.

        Raises:
            LaunchError: the driver reports an error.
        """
        launch = Launch(name=name, arrays=arrays, grid=grid, block=block, scalars=scalars, shared_bytes=shared_bytes, maps=maps)
        process, connection = self._worker = self._worker or self._begun()
        try:
            connection.send(launch)
            assert connection.poll(MOST_SECONDS), f"{name} has not ended after {MOST_SECONDS} s"
            reply = connection.recv()
        except (AssertionError, EOFError, OSError) as error:
            self._end(process, connection)
            raise AssertionError(f"{name}: {str(error) or 'the process that launched it has died'}") from error
        if isinstance(reply, tuple):
            self._end(process, connection)
            raise LaunchError(*reply)
        for array, result in zip(arrays, reply, strict=True):
            array[...] = result

    def _begun(self) -> tuple[BaseProcess, Connection]:
        context = multiprocessing.get_context("spawn")
        connection, theirs = context.Pipe()
        process = context.Process(target=serve, args=(self._cubins, theirs), daemon=True)
        process.start()
        theirs.close()
        return process, connection

    def _end(self, process: BaseProcess, connection: Connection) -> None:
        self._worker = None
        connection.close()
        process.kill()
        process.join()
