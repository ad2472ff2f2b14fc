"""Measures PyTorch and onnxruntime on the benchmark models, for comparison. Needs a CUDA device and what `models.zoo` needs.

Latency is the median over CUDA events around several runs in a row, inputs on the device; with a CUDA graph and without. Models are made on
the device: to draw their weights on the CPU takes tens of seconds each.

Usage: python -m tests.bench.peers torch|compile|onnxruntime [--batch 1] [--out FILE] NAME.TYPE ...
       NAME is one of models.zoo, TYPE fp32, tf32, fp16 or bf16; a JSON object a line
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from models import zoo

TYPES = {"fp16": torch.float16, "fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16}
CONVOLUTIONAL = ("resnet50", "mobilenet_v3", "efficientnet_b0", "convnext_tiny")
WARM_UP_RUNS = 5
SAMPLES = 50
RUNS_PER_SAMPLE = 10
HOST_SECONDS = 2.0


def device_milliseconds(run: Callable[[], object], samples: int = SAMPLES) -> float:
    """Return the median milliseconds of a run by CUDA events."""
    for _ in range(WARM_UP_RUNS):
        run()
    torch.cuda.synchronize()
    times = []
    for _ in range(samples):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(RUNS_PER_SAMPLE):
            run()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / RUNS_PER_SAMPLE)
    return statistics.median(times)


def host_milliseconds(run: Callable[[], object]) -> float:
    """Return the mean milliseconds of a run that waits for its end."""
    for _ in range(WARM_UP_RUNS):
        run()
    begin, runs = time.perf_counter(), 0
    while (elapsed := time.perf_counter() - begin) < HOST_SECONDS:
        run()
        runs += 1
    return elapsed / runs * 1e3


def measure_torch(name: str, batch: int, dtype: str, *, is_compiled: bool) -> dict[str, Any]:
    """Measure PyTorch, eager inside a CUDA graph or through torch.compile; of convolutions in both layouts, the faster of which counts."""
    with torch.device("cuda"):
        module, inputs = zoo.build(name, batch, TYPES[dtype])
    layouts = {"contiguous": torch.contiguous_format} | ({"channels_last": torch.channels_last} if name in CONVOLUTIONAL else {})
    found = {}
    for layout, memory_format in layouts.items():
        if len(layouts) > 1:
            module, inputs = module.to(memory_format=memory_format), tuple(t.to(memory_format=memory_format) for t in inputs)
        with torch.inference_mode():
            found[layout] = _measure_compiled(module, inputs) if is_compiled else _measure_captured(module, inputs)
    layout = min(found, key=lambda key: found[key]["ms"])
    return {**found[layout], "layout": layout}


def _measure_captured(module: torch.nn.Module, inputs: zoo.Inputs) -> dict[str, Any]:
    for _ in range(3):
        module(*inputs)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        module(*inputs)
    return {"ms": device_milliseconds(graph.replay), "ms_without_graph": device_milliseconds(lambda: module(*inputs), samples=10)}


def _measure_compiled(module: torch.nn.Module, inputs: zoo.Inputs) -> dict[str, Any]:
    from torch._inductor import config

    config.freezing = True
    config.conv_1x1_as_mm = True
    compiled = torch.compile(module, mode="max-autotune")
    begin = time.perf_counter()
    for _ in range(3):
        compiled(*inputs)
    torch.cuda.synchronize()
    return {"compile_s": round(time.perf_counter() - begin, 1), "ms": device_milliseconds(lambda: compiled(*inputs))}


def measure_onnxruntime(name: str, batch: int, dtype: str) -> dict[str, Any]:
    """Measure onnxruntime's CUDA provider with inputs and outputs bound on the device, with a CUDA graph and without."""
    import onnxruntime

    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():  # before the export, which takes longer than anything else
        return {"error": f"onnxruntime {onnxruntime.__version__} has no CUDA provider here"}
    module, inputs = zoo.build(name, batch, TYPES[dtype])
    with tempfile.TemporaryDirectory() as scratch, torch.inference_mode():
        path = Path(scratch) / "model.onnx"
        torch.onnx.export(module, inputs, path, dynamo=True, external_data=True, verbose=False, optimize=True)
        results: dict[str, Any] = {}
        for key, has_graph in (("ms_with_graph", True), ("ms_without_graph", False)):
            try:
                results[key] = _measure_session(path, inputs, name, dtype, has_graph=has_graph)
            except Exception as error:  # a provider that cannot capture this model; the other figure still counts
                results[f"{key}_error"] = str(error)[:300]
    figures = [results[key] for key in ("ms_with_graph", "ms_without_graph") if key in results]
    return {**results, "ms": min(figures)} if figures else results


def _measure_session(path: Path, inputs: zoo.Inputs, name: str, dtype: str, *, has_graph: bool) -> float:
    import onnxruntime

    provider = {
        "enable_cuda_graph": str(int(has_graph)),
        "cudnn_conv_algo_search": "EXHAUSTIVE",
        "use_tf32": str(int(dtype == "tf32")),
        "prefer_nhwc": str(int(name in CONVOLUTIONAL)),
    }
    session = onnxruntime.InferenceSession(path, providers=[("CUDAExecutionProvider", provider)])
    if "CUDAExecutionProvider" not in session.get_providers():
        raise RuntimeError("onnxruntime fell back to the CPU")
    binding = session.io_binding()
    on_device = [onnxruntime.OrtValue.ortvalue_from_numpy(t.numpy(), "cuda", 0) for t in inputs]
    for port, value in zip(session.get_inputs(), on_device, strict=True):
        binding.bind_ortvalue_input(port.name, value)
    # The first run places the outputs; a captured graph needs them to stay where they are.
    for port in session.get_outputs():
        binding.bind_output(port.name, "cuda")
    session.run_with_iobinding(binding)
    for port, value in zip(session.get_outputs(), binding.get_outputs(), strict=True):
        binding.bind_ortvalue_output(port.name, value)
    return host_milliseconds(lambda: session.run_with_iobinding(binding))


def measure(kind: str, name: str, batch: int, dtype: str) -> dict[str, Any]:
    """Return the row of one model; what fails is told in it."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = dtype == "tf32"
    torch.backends.cudnn.benchmark = True
    begin = time.perf_counter()
    try:
        if kind == "onnxruntime":
            result = measure_onnxruntime(name, batch, dtype)
        else:
            result = measure_torch(name, batch, dtype, is_compiled=kind == "compile")
    except Exception:  # the other models still count
        result = {"error": traceback.format_exc()}
    return {"kind": kind, "model": name, "batch": batch, "dtype": dtype, **result, "total_s": round(time.perf_counter() - begin, 1)}


def main(arguments: list[str]) -> int:
    """Run the command line; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["torch", "compile", "onnxruntime"])
    parser.add_argument("models", nargs="+", metavar="NAME.TYPE")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--out", type=Path, metavar="FILE", help="for the rows")
    options = parser.parse_args(arguments)
    wanted = [model.rpartition(".") for model in options.models]
    if unknown := [f"{name}.{dtype}" for name, _, dtype in wanted if name not in zoo.MODELS or dtype not in TYPES]:
        parser.error(f"there is no {', '.join(unknown)}; names are {', '.join(zoo.MODELS)}, types {', '.join(TYPES)}")
    rows = []
    for name, _, dtype in wanted:
        rows.append(json.dumps(measure(options.kind, name, options.batch, dtype)))
        print(rows[-1], flush=True)
        if options.out:
            options.out.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return int(any("error" in json.loads(row) for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
