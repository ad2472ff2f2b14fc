"""Mutated models at length: what tests/unit/frontend/test_mutations.py and tests/e2e/test_mutations.py do in small.

Each mutation has a number, which decides all about it, so that one that breaks is found again by --first. A model may be taken or refused
in words; what counts as a finding is any other exception, more than 20 s of processor time, and memory beyond 2 GiB.

Usage: python -m tests.bench.fuzz bytes|fields|networks [--count 50000] [--first 0]
"""

from __future__ import annotations

import argparse
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

from nautilus_cli.codegen.render import render
from nautilus_cli.errors import InternalError, NautilusError
from nautilus_cli.frontend import load, load_model
from nautilus_cli.frontend.external_data import ExternalData
from nautilus_cli.lowering.planner import plan
from nautilus_cli.passes import pipeline
from nautilus_cli.targets.registry import target
from tests.e2e.test_mutations import NETWORKS, mutated
from tests.unit.frontend.mutations import mutated_bytes, mutated_fields, seeds

SECONDS = 20
MEMORY_BYTES = 2 << 30
GUARD_BYTES = 6 << 30
"""Of address space, more than the memory that is allowed: an allocation beyond it fails instead of pulling the machine down."""

SEEDS = seeds()
EVERY = 1000


class TooSlow(BaseException):
    """The processor time is used up; no handler of exceptions takes this for its own."""


def _bytes(random: Random, folder: Path) -> None:
    path = folder / "model.onnx"
    path.write_bytes(mutated_bytes(random.choice(SEEDS).SerializeToString(), random))
    load(path)


def _fields(random: Random, folder: Path) -> None:
    path = folder / "model.onnx"
    path.write_bytes(mutated_fields(random.choice(SEEDS), random).SerializeToString())
    load(path)


def _networks(random: Random, folder: Path) -> None:
    """Everything before the compilers."""
    proto = mutated(NETWORKS[random.choice(list(NETWORKS))], random)
    fused = pipeline.run(load_model(proto, ExternalData(None), "").graph)
    for kernel in plan(fused, target("sm_90a"), lambda family, problem, on: family.choose(problem, on), fp32_mode="ffma").kernels:
        render(kernel.request)


KINDS: dict[str, Callable[[Random, Path], None]] = {"bytes": _bytes, "fields": _fields, "networks": _networks}


def outcome(run: Callable[[Random, Path], None], random: Random, folder: Path) -> str:
    """Return what became of a mutation: `taken`, `refused`, or what is wrong."""

    def stop(_signal: int, _frame: object) -> None:
        raise TooSlow

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        run(random, folder)
    except InternalError:
        return traceback.format_exc()
    except NautilusError as error:
        return "refused" if str(error) and "\n" not in str(error) else f"not one paragraph: {str(error)!r}"
    except TooSlow:
        return f"more than {SECONDS} s\n{traceback.format_exc()}"
    except Exception:
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "taken"


def main(arguments: list[str]) -> int:
    """Run mutations; return 1 where one is a finding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=list(KINDS))
    parser.add_argument("--count", type=int, default=50000, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first")
    given = parser.parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (GUARD_BYTES, GUARD_BYTES))
    outcomes: Counter[str] = Counter()
    slowest, begin = (0.0, given.first), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="nautilus-fuzz-") as folder:
        for number in range(given.first, given.first + given.count):
            before, peak = time.process_time(), _peak_bytes()
            found = outcome(KINDS[given.kind], Random(f"{given.kind} {number}"), Path(folder))
            slowest = max(slowest, (time.process_time() - before, number))
            if found not in ("taken", "refused"):
                print(f"{given.kind} {number}: {found}", flush=True)
                found = "broken"
            if peak < MEMORY_BYTES < _peak_bytes():
                print(f"{given.kind} {number}: memory grew to {_peak_bytes()} bytes", flush=True)
                found = "broken"
            outcomes[found] += 1
            if (number - given.first + 1) % EVERY == 0 or number == given.first + given.count - 1:
                print(
                    f"{sum(outcomes.values())} {given.kind}: {dict(outcomes)}, number {slowest[1]} took {slowest[0]:.2f} s of processor, "
                    f"peak {_peak_bytes() >> 20} MiB, {time.monotonic() - begin:.0f} s",
                    flush=True,
                )
    return int(outcomes["broken"] > 0)


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
