"""A library of two hand-written kernels, built by the real toolchain for any target: the host code on the real emulator, or on a GPU."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nautilus_cli.artifact.variant import Variant
from nautilus_cli.artifact.weights_file import WeightsPlace
from nautilus_cli.runtime.library import Library
from nautilus_cli.targets.base import Target
from nautilus_cli.toolchain import host_compiler
from nautilus_cli.toolchain.builder import build
from nautilus_cli.toolchain.cache import Cache
from tests.support import fake_library
from tests.support.fake_library import WEIGHTS

SYMBOLS = ("tiny_add", "tiny_gather")


@dataclass(frozen=True, slots=True)
class Source:
    symbol: str
    text: str


def variant(target: Target, store: Cache | None = None) -> Variant:
    """sum = (x + y) + weights; picked = sum.flat[index]."""
    kernels = [Source(symbol, Path(__file__).with_name(f"{symbol}.cu").read_text()) for symbol in SYMBOLS]
    whole = fake_library.plan()
    plan = replace(whole, target=target.name, outputs=whole.outputs[:2], kernels=whole.kernels[:2], launches=whole.launches[:3])
    return Variant(target=target, plan=plan, symbols=SYMBOLS, images=build(kernels, target, store=store).images)


def write(output: Path, *targets: Target, store: Cache | None = None, weights: WeightsPlace = WeightsPlace.INTERNAL) -> Path:
    host = host_compiler.shared_library(store or Cache.default())
    return fake_library.write(output, host, *(variant(target, store) for target in targets), weights=weights)


def feeds(seed: int = 0) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    x, y = generator.standard_normal((2, 2, 3)).astype(np.float32)
    return {"x": x, "y.1": y, "index": np.array([5, 0])}


def expected(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    total = (inputs["x"] + inputs["y.1"]) + WEIGHTS
    return {"sum": total, "picked": total.ravel()[inputs["index"]]}


def check(outputs: dict[str, object], inputs: dict[str, np.ndarray]) -> None:
    for name, array in expected(inputs).items():
        np.testing.assert_array_equal(outputs[name], array)  # the same additions in the same order: no rounding differs


def check_side_by_side(library: Library, *, runs: int) -> None:
    """Run a library in several threads at once, each with inputs of its own."""
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        inputs = feeds(seed)
        try:
            for _ in range(runs):
                check(library(inputs), inputs)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
