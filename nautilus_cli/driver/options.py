"""What can be asked of compile, verify, tune and inspect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nautilus_cli.ir.ranges import DimRange, Size

Progress = Callable[[str, int, int], None]
"""Told what is being done, how many steps of it are done, and of how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Which model, as which graph, and for what: what is asked wherever a model is read.

    Attributes:
        model: the ONNX file.
        target: name of a target, or several where a library can hold them, separated by commas; None for the device present, else the
            emulator.
        shapes: shape of an input, by name; a range leaves a dimension open to the run.
        dims: ranges of dimensions that the model names, and points in them that kernels are chosen, or tuned, for.
        bindings: constant value of an input as text, by name.
        outputs: tensors to give out in place of the model's outputs, in order; none for those that it declares.
        fp32_mode: how products of f32 are multiplied: `ffma`: in f32; `3xtf32`: on tensor cores, each number as two of tf32; `tf32`: on
            tensor cores, rounded.
    """

    model: Path
    target: str | None = None
    shapes: Mapping[str, tuple[Size, ...]] = field(default_factory=dict)
    dims: Mapping[str, DimRange] = field(default_factory=dict)
    bindings: Mapping[str, str] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    fp32_mode: str = "ffma"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileOptions(ModelOptions):
    """What to compile, and for what.

    Attributes:
        output: the shared library to write; the manifest lies beside it with the suffix `.json`.
        max_memory_bytes: device memory that one context may need; None for any.
        device: number of the GPU whose target is the default, and that verification runs on; None for the first that fits.
        save_temps: folder for generated text, images and logs; None to keep none.
        jobs: compilers at once; None for one a core.
        verify: compare with onnxruntime afterwards, where a target can run here.
        weights: `internal`: in the library; `external`: in a file beside it; `automatic`: beside it above 1 GiB.
        inplace_cache: whether an output that is an input with rows appended (`present` and `past` of a decoder) lies in the same memory.
    """

    output: Path
    max_memory_bytes: int | None = None
    device: int | None = None
    save_temps: Path | None = None
    jobs: int | None = None
    verify: bool = True
    weights: str = "automatic"
    inplace_cache: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """What to compare, on which inputs, how closely.

    Attributes:
        model: the ONNX file.
        library: the shared library compiled from it.
        inputs: an .npz file of inputs by name; None for seeded ones.
        golden: an .npz file of the outputs expected, by name; None to ask onnxruntime.
        dataset: a folder of inputs, and of the outputs expected where it holds them, in place of `inputs` and `golden`.
        seed: of the inputs that are drawn.
        ranges: lowest and highest value drawn, by input name.
        rtol: relative tolerance by output name; None is every other output's. Outputs without one get the derived tolerance.
        atol: absolute tolerance, likewise.
        save_inputs: .npz file to write the inputs to; None to keep none.
        save_outputs: .npz file to write the library's outputs to; None to keep none.
        device: number of the GPU.
        place: where the library runs, as `nautilus_cli.load` takes it: `automatic`, `gpu` or `emulated`.
        per_node: also compare what each group of nodes stores, and name the first that is wrong.
        sizes: of dimensions that the library leaves open, by name; none for some sizes of all, or those of the inputs.
        shapes: of inputs with such dimensions, by name.
        jobs: compilers at once, for that; None for one a core.
    """

    model: Path
    library: Path
    inputs: Path | None = None
    golden: Path | None = None
    dataset: Path | None = None
    seed: int = 0
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    rtol: Mapping[str | None, float] = field(default_factory=dict)
    atol: Mapping[str | None, float] = field(default_factory=dict)
    save_inputs: Path | None = None
    save_outputs: Path | None = None
    device: int = 0
    place: str = "automatic"
    per_node: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    jobs: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions(ModelOptions):
    """What to tune, and how long.

    Attributes:
        trials: schedules tried for each distinct problem.
        device: number of the GPU to measure on; None for the first that fits.
        jobs: compilers at once; None for one a core.
        seed: of the sampler.
    """

    trials: int
    device: int | None = None
    jobs: int | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectOptions(ModelOptions):
    """What to look into: `model` may be a compiled library, too.

    Attributes:
        explain: name of an ONNX node to say everything about; None for the whole.
    """

    explain: str | None = None


def silent(_stage: str, _done: int, _total: int) -> None:
    """Report progress to nobody."""
