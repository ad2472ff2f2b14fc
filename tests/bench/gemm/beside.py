"""What instructions of other warps cost tensor cores: see beside.cu."""

from __future__ import annotations

import ctypes
import json
import statistics
import struct
from pathlib import Path

from nautilus_cli.targets.registry import target
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.nvrtc import compile_kernel

KINDS: dict[str, tuple[int, int]] = {
    "multiplications_1": (1, 1),
    "multiplications_2": (2, 1),
    "multiplications_3": (3, 1),
    "multiplications_4": (4, 1),
    "multiplications_8": (8, 1),
    "maxima": (8, 2),
    "exponentials": (8, 1),
    "alternating": (8, 2),
    "gelu_short": (8, 10),
    "gelu_beside": (8, 10),
}
"""Chains of each kind, and instructions of a step of one; of GELU with the addition of a bias."""

_BLOCKS = 8  # too few to be bound by power
_THREADS = 256
_SHARED_BYTES = 64 * 1024
_PRODUCTS = 300  # of 512 cycles, where nothing runs beside them
_REPEATS = 32
_ROUNDS_ALONE = 20
_MAX_DYNAMIC_SHARED_BYTES = 8


def run(out: Path) -> int:
    """Measure all kinds; needs a GPU and torch."""
    import torch

    from tests.bench.gemm.measure import Cuda

    cuda, rows = Cuda(), []
    text = (Path(__file__).parent / "beside.cu").read_text()
    image = compile_kernel(text, "maxima", target("sm_90a"), Cache.default()).image
    module = ctypes.c_void_p()
    cuda.call("cuModuleLoadData", ctypes.byref(module), image)
    found = torch.zeros(_BLOCKS, 4, dtype=torch.int64, device="cuda")

    def cycles(kind: str, products: int, rounds: int) -> tuple[float, float, float]:
        """Return the cycles of the products and of what runs beside them, and its rounds."""
        function = ctypes.c_void_p()
        cuda.call("cuModuleGetFunction", ctypes.byref(function), module, kind.encode())
        cuda.call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED_BYTES, _SHARED_BYTES)
        block = ctypes.create_string_buffer(struct.pack("<Qqq", found.data_ptr(), products, rounds))
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(block))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        for _ in range(2):  # the first brings the code
            cuda.call("cuLaunchKernel", function, _BLOCKS, 1, 1, _THREADS, 1, 1, _SHARED_BYTES, stream, parameters, None)
        torch.cuda.synchronize()
        columns = found.cpu().tolist()
        products_cycles, beside_cycles, done = (statistics.median(row[i] for row in columns) for i in range(3))
        return float(products_cycles), float(beside_cycles), float(done)

    for kind, (chains, instructions) in KINDS.items():
        of_round = chains * instructions * _REPEATS
        bare, _, _ = cycles(kind, _PRODUCTS, 0)
        _, alone, _ = cycles(kind, 0, _ROUNDS_ALONE)
        products, beside, rounds = cycles(kind, _PRODUCTS, 1 << 30)
        row = {
            "kind": kind,
            "stolen": (products - bare) / (rounds * of_round),
            "interval_alone": alone / (_ROUNDS_ALONE * of_round),
            "interval_beside": beside / (rounds * of_round),
            "slowdown": products / bare,
        }
        rows.append(row)
        print(
            f"{kind:<18} takes {row['stolen']:5.2f} cycles of tensor cores an instruction; one every {row['interval_beside']:5.2f} cycles, "
            f"alone every {row['interval_alone']:5.2f}; products take {row['slowdown']:.2f} times as long"
        )
    out.write_text(json.dumps(rows, indent=1))
    return 0
