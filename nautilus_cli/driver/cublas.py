"""cuBLAS through torch.mm, where torch is there: what a product of ours is held against."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

_DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32"}


def cublas(m: int, n: int, k: int, dtype: str, *, is_tf32: bool, device: int, copies: int, launches: int) -> Callable[[], float] | None:
    """Return what times one replay of a CUDA graph of LAUNCHES products C [m, n] = A [m, k] Bᵀ over COPIES of B, in microseconds.

    None where torch or its GPU is missing.
    """
    try:
        torch: Any = import_module("torch")
        if not torch.cuda.is_available():
            return None
    except (ImportError, OSError):
        return None
    torch.backends.cuda.matmul.allow_tf32 = is_tf32
    with torch.cuda.device(device):
        kind = {"device": "cuda", "dtype": getattr(torch, _DTYPES[dtype])}
        a = torch.randn((m, k), **kind)
        weights = [torch.randn((n, k), **kind).t() for _ in range(copies)]
        results = [torch.empty((m, n), **kind) for _ in range(copies)]
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            torch.mm(a, weights[0], out=results[0])
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for number in range(launches):
                torch.mm(a, weights[number % copies], out=results[number % copies])
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def replay() -> float:
        with torch.cuda.device(device):
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            return float(begin.elapsed_time(end)) * 1e3

    return replay
