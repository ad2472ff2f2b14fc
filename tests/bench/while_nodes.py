"""What an iteration of a loop would cost as a WHILE node of a CUDA graph, with kernels that do next to nothing.

Usage: python -m tests.bench.while_nodes OUT.json     needs a GPU

The last kernel of an iteration counts; the condition is set by it, or by one more. Of every combination of kernels, edges and a copy of
256 bytes at the end, as pieces that walk along a tensor need it.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from cuda.bindings import driver as d
from cuda.bindings import nvrtc

ITERATIONS, RUNS, COPIED_BYTES = 1000, 20, 256

TEXT = b"""
extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned int value);
extern "C" __global__ void reset(int *counter) { *counter = 0; }
extern "C" __global__ void other(float *x) { x[threadIdx.x] += 1.0f; }
extern "C" __global__ void count(int *counter, unsigned char *flag, int limit) {
  if (threadIdx.x == 0) *flag = ++*counter < limit;
}
extern "C" __global__ void set_condition(unsigned long long handle, const unsigned char *flag) { cudaGraphSetConditional(handle, *flag); }
extern "C" __global__ void count_and_set(int *counter, unsigned char *flag, int limit, unsigned long long handle) {
  if (threadIdx.x == 0) cudaGraphSetConditional(handle, *flag = ++*counter < limit);
}
"""
"""That the condition is set from a kernel of NVRTC needs no device runtime: the driver resolves the call."""

POINTER, NUMBER = ctypes.c_uint64, ctypes.c_int


def checked(answer: tuple[Any, ...]) -> Any:
    """Return what a function of the driver or NVRTC gives."""
    if int(answer[0]) != 0:
        raise RuntimeError(repr(answer[0]))
    return answer[1] if len(answer) == 2 else answer[1:]


def cubin() -> bytes:
    """Return the kernels, compiled."""
    program = checked(nvrtc.nvrtcCreateProgram(TEXT, b"while.cu", 0, [], []))
    checked(nvrtc.nvrtcCompileProgram(program, 1, [b"-arch=sm_90a"]))
    found = b" " * checked(nvrtc.nvrtcGetCUBINSize(program))
    checked(nvrtc.nvrtcGetCUBIN(program, found))
    return found


class Loops:
    """Builds graphs with a WHILE node, and times them."""

    def __init__(self) -> None:
        checked(d.cuInit(0))
        self.context = checked(d.cuDevicePrimaryCtxRetain(checked(d.cuDeviceGet(0))))
        checked(d.cuCtxSetCurrent(self.context))
        module = checked(d.cuModuleLoadData(cubin()))
        names = ("reset", "other", "count", "set_condition", "count_and_set")
        self.functions = {name: checked(d.cuModuleGetFunction(module, name.encode())) for name in names}
        memory = int(checked(d.cuMemAlloc(1 << 20)))
        self.counter, self.flag, self.x, self.y = memory, memory + 256, memory + 512, memory + 4096
        self.stream = checked(d.cuStreamCreate(1))
        self.kept: list[Any] = []

    def kernel(
        self, graph: Any, before: list[Any], name: str, *values: int, types: tuple[Any, ...], threads: int, early: bool
    ) -> list[Any]:
        """Add a launch of one block; EARLY: it need not wait for the end of the one before."""
        node = d.CUDA_KERNEL_NODE_PARAMS()
        node.func = self.functions[name]
        node.gridDimX = node.gridDimY = node.gridDimZ = node.blockDimY = node.blockDimZ = 1
        node.blockDimX = threads
        node.kernelParams = (values, types)
        self.kept.append(node)
        if not early or not before:
            return [checked(d.cuGraphAddKernelNode(graph, before, len(before), node))]
        added = checked(d.cuGraphAddKernelNode(graph, [], 0, node))
        edge = d.CUgraphEdgeData()
        edge.from_port, edge.type = 1, d.CUgraphDependencyType.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
        checked(d.cuGraphAddDependencies(graph, before, [added], [edge], 1))
        return [added]

    def graph(self, kernels: int, condition: str, early: bool, copies: int) -> Any:
        """Return a graph that counts to ITERATIONS in a WHILE node."""
        graph = checked(d.cuGraphCreate(0))
        first = self.kernel(graph, [], "reset", self.counter, types=(POINTER,), threads=1, early=False)
        handle = checked(d.cuGraphConditionalHandleCreate(graph, self.context, 1, 1))
        node = d.CUgraphNodeParams()
        node.type = d.CUgraphNodeType.CU_GRAPH_NODE_TYPE_CONDITIONAL
        node.conditional.handle, node.conditional.ctx, node.conditional.size = handle, self.context, 1
        node.conditional.type = d.CUgraphConditionalNodeType.CU_GRAPH_COND_TYPE_WHILE
        checked(d.cuGraphAddNode(graph, first, None, len(first), node))
        body, last = node.conditional.phGraph_out[0], []
        for _ in range(kernels - 1):
            last = self.kernel(body, last, "other", self.x, types=(POINTER,), threads=32, early=early)
        values, types = (self.counter, self.flag, ITERATIONS), (POINTER, POINTER, NUMBER)
        if condition == "inside":
            last = self.kernel(body, last, "count_and_set", *values, int(handle), types=(*types, POINTER), threads=32, early=early)
        else:
            last = self.kernel(body, last, "count", *values, types=types, threads=32, early=early)
            last = self.kernel(body, last, "set_condition", int(handle), self.flag, types=(POINTER, POINTER), threads=1, early=False)
        for _ in range(copies):
            copy = d.CUDA_MEMCPY3D()
            copy.srcMemoryType = copy.dstMemoryType = d.CUmemorytype.CU_MEMORYTYPE_DEVICE
            copy.srcDevice, copy.dstDevice, copy.WidthInBytes, copy.Height, copy.Depth = self.x, self.y, COPIED_BYTES, 1, 1
            last = [checked(d.cuGraphAddMemcpyNode(body, last, len(last), copy, self.context))]
        return graph

    def measured(self, kernels: int, condition: str, early: bool, copies: int) -> dict[str, Any]:
        """Return the time of an iteration, and that of making the graph ready."""
        graph = self.graph(kernels, condition, early, copies)
        begin = time.perf_counter()
        ready = checked(d.cuGraphInstantiate(graph, 0))
        instantiate_us = (time.perf_counter() - begin) * 1e6
        before, after = checked(d.cuEventCreate(0)), checked(d.cuEventCreate(0))
        times = []
        for _ in range(RUNS):
            checked(d.cuEventRecord(before, self.stream))
            checked(d.cuGraphLaunch(ready, self.stream))
            checked(d.cuEventRecord(after, self.stream))
            checked(d.cuStreamSynchronize(self.stream))
            times.append(checked(d.cuEventElapsedTime(before, after)) * 1e3 / ITERATIONS)
        counted = ctypes.c_int()
        checked(d.cuMemcpyDtoH(ctypes.addressof(counted), self.counter, 4))
        if counted.value != ITERATIONS:
            raise RuntimeError(f"{counted.value} iterations where {ITERATIONS} were asked for")
        row = {"kernels": kernels, "condition": condition, "programmatic": early, "copies": copies}
        return row | {"us": round(median(times), 3), "instantiate_us": round(instantiate_us, 1)}


def main(arguments: list[str]) -> int:
    """Run the command line; see the module's text."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    loops = Loops()
    rows = [loops.measured(*case) for case in product((1, 4, 16), ("inside", "apart"), (False, True), (0, 1))]
    Path(arguments[0]).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
