"""The manifest: a library's plan as JSON, beside the library.

The same input gives the same bytes: keys are sorted, and there are no times and no absolute paths in it. The library holds the
SHA-256 of its manifest, so a manifest of another library is noticed.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from nautilus_cli.artifact.special_files import refuse_special
from nautilus_cli.artifact.steps import steps_data
from nautilus_cli.artifact.variant import Variant
from nautilus_cli.errors import FileError, InternalError
from nautilus_cli.ir.binding import dimensions, expressions
from nautilus_cli.ir.counts import before_reads
from nautilus_cli.ir.dims import Count, Element, Symbolic, upper
from nautilus_cli.ir.dims_text import size_text
from nautilus_cli.ir.occurrences import float_elements, symbols
from nautilus_cli.ir.types import DType
from nautilus_cli.lowering.plan import Alternative, Buffer, Kernel, Launch, Plan, Port, Weight, Word

SCHEMA = 1

_REQUIRED: Mapping[str, type] = {
    "arena_bytes": int,
    "bindings": dict,
    "buffers": list,
    "inputs": list,
    "kernels": list,
    "launches": list,
    "model_sha256": str,
    "more_targets": list,
    "outputs": list,
    "schema": int,
    "target": str,
    "tools": dict,
    "weight_bytes": int,
    "weights": list,
    "weights_file": str,
    "weights_sha256": str,
}
"""Keys of a manifest and their types."""


NO_POINTS: Mapping[str, Sequence[int]] = {}


def manifest_path(library: Path) -> Path:
    """Return where the manifest of a library lies: `libmodel.so` has `libmodel.json`."""
    return library.with_suffix(".json")


def _plain(value: object) -> Any:
    """Return VALUE as JSON knows it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Symbolic):
        return _size(value)
    if isinstance(value, DType):
        return str(value)
    if isinstance(value, Enum):
        return _plain(value.value)
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, Sequence):
        return [_plain(v) for v in value]
    raise InternalError(f"the manifest cannot hold {type(value).__name__}")


def _size(size: Symbolic) -> str:
    """Return an open dimension by its name as it is, and an expression as `ir.dims_text` reads it, where odd names are quoted."""
    name = str(size)
    return name if any(name == symbol.name for symbol in symbols(size)) else size_text(size)


def _port(port: Port) -> dict[str, Any]:
    shared = {} if port.shared is None else {"shared": _plain(port.shared)}
    return {"dtype": str(port.dtype), "name": port.name, "shape": _plain(port.shape), **shared}


def _kernel(kernel: Kernel, symbol: str) -> dict[str, Any]:
    return {
        "family": kernel.request.family,
        "problem": _plain(kernel.request.problem),
        "schedule": _plain(kernel.request.schedule),
        "smem_bytes": kernel.geometry.smem_bytes,
        "symbol": symbol,
        "tensor_maps": _plain(kernel.maps),
        "threads": kernel.geometry.threads,
        "weight_recipes": list(kernel.recipes),
    }


def _launch(launch: Launch, plan: Plan) -> dict[str, Any]:
    return {
        "grid": _plain(plan.kernels[launch.kernel].geometry.grid),
        "kernel": launch.kernel,
        "nodes": list(launch.origin),
        "note": launch.note,
        "words": _words(launch.words),
        **({"alternatives": [_alternative(a, launch, plan) for a in launch.alternatives]} if launch.alternatives else {}),
    }


def _alternative(alternative: Alternative, launch: Launch, plan: Plan) -> dict[str, Any]:
    """Return what is launched in a launch's place; its words where they are others."""
    return {
        "condition": f"{_plain(alternative.condition)} <= 0",
        "grid": _plain(plan.kernels[alternative.kernel].geometry.grid),
        "kernel": alternative.kernel,
        **({} if alternative.words in {launch.words} else {"words": _words(alternative.words)}),
    }


def _words(words: Sequence[Word]) -> list[list[Any]]:
    return [[w.kind, w.index, _plain(w.value)] for w in words]


def _buffer(buffer: Buffer) -> dict[str, Any]:
    return {
        "bytes": _plain(buffer.bytes),
        "first": buffer.first,
        "last": buffer.last,
        "offset": _plain(buffer.offset),
        "tensor": buffer.tensor,
    }


def _weight(weight: Weight) -> dict[str, Any]:
    return {"bytes": weight.array.nbytes, "offset": weight.offset, "recipe": weight.recipe, "tensors": list(weight.tensors)}


def _target(variant: Variant) -> dict[str, Any]:
    plan = variant.plan
    return {
        "arena_bytes": upper(before_reads(plan.arena_bytes)),
        "buffers": [_buffer(b) for b in plan.buffers],
        "code_bytes": sum(len(image.data) for image in variant.images),
        "kernels": [_kernel(k, s) for k, s in zip(plan.kernels, variant.symbols, strict=True)],
        "launches": [_launch(launch, plan) for launch in plan.launches],
        "steps": steps_data(plan.steps),
        "target": variant.target.name,
    }


def _values(plan: Plan) -> list[dict[str, Any]]:
    """Return the elements of inputs that the host reads at the beginning of a run, and waits for: sizes depend on them."""
    tree = (plan.inputs, plan.outputs, plan.launches, plan.checks, plan.arena_bytes)
    whole = [
        {"input": s.source.input, "element": s.source.index, "low": s.low, "high": s.high, "saturates": s.source.saturates}
        for s in dimensions(tree)
        if isinstance(s.source, Element)
    ]
    floats = {found for value in expressions(tree) for found in float_elements(value)}
    parts = [{"input": found.input, "element": found.index} for found in floats]
    return sorted([*whole, *parts], key=lambda entry: (str(entry["input"]), int(entry["element"])))


def build(
    variants: Sequence[Variant],
    *,
    model_digest: bytes,
    weights_digest: bytes,
    tools: Mapping[str, str],
    bindings: Mapping[str, str],
    fp32_mode: str,
    points: Mapping[str, Sequence[int]] = NO_POINTS,
    weights_file: str = "",
) -> bytes:
    """Return the manifest of a library as the bytes of its file.

    Args:
        variants: what the library holds, one a target. Kernels, launches and buffers of the first stand at the top of the manifest,
            those of further ones (a library for several targets) under `more_targets`.
        model_digest: SHA-256 of the ONNX model.
        weights_digest: SHA-256 of the weights section.
        tools: version of each tool that had a part in it.
        bindings: text of the constant that replaces an input, by name; whoever compares with the model needs them.
        fp32_mode: how products of f32 are multiplied; whoever compares needs it too.
        points: sizes of open dimensions, by name, that kernels were chosen for; whoever compares each kernel needs them.
        weights_file: name of the file beside the library that holds the weights; "" where the library itself does.
    """
    plan = variants[0].plan
    known = dimensions((plan.inputs, plan.outputs))
    content = {
        **_target(variants[0]),
        "bindings": dict(bindings),
        "fp32_mode": fp32_mode,
        "points": {name: list(sizes) for name, sizes in points.items()},
        "counts": [{"name": s.name, "most": _plain(s.source.bound)} for s in known if isinstance(s.source, Count)],
        "limits": [{"name": name, "word": word, "most": most} for name, word, most in plan.limits],
        "dimensions": [{"name": s.name, "low": s.low, "high": s.high, "divisor": s.divisor} for s in known if s.source is None],
        "values": _values(plan),
        "inputs": [_port(p) for p in plan.inputs],
        "model_sha256": model_digest.hex(),
        "more_targets": [_target(v) for v in variants[1:]],
        "outputs": [_port(p) for p in plan.outputs],
        "schema": SCHEMA,
        "tools": dict(tools),
        "weight_bytes": plan.weight_bytes,
        "weights": [_weight(w) for w in plan.weights],
        "weights_file": weights_file,
        "weights_sha256": weights_digest.hex(),
    }
    text = json.dumps(content, sort_keys=True, indent=1, ensure_ascii=True, allow_nan=False)
    return text.encode("ascii") + b"\n"


def parse(data: bytes, where: str) -> dict[str, Any]:
    """Return the content of a manifest.

    Args:
        data: the bytes of the file.
        where: what error messages call it.

    Raises:
        FileError: it is no manifest, or one of another schema.
    """
    again = "Compile the model again."
    try:
        content = json.loads(data)
    except ValueError as error:
        raise FileError(f"this is not a manifest: {error}", where=where, hint=again) from error
    if not isinstance(content, dict) or "schema" not in content:
        raise FileError("this is not a manifest: it has no schema number", where=where, hint=again)
    if content["schema"] != SCHEMA:
        raise FileError(f"the manifest has schema {content['schema']!r}; this Nautilus reads schema {SCHEMA}", where=where, hint=again)
    for key, kind in _REQUIRED.items():
        if not isinstance(content.get(key), kind):
            raise FileError(f"the manifest's '{key}' is not of type {kind.__name__}", where=where, hint=again)
    return content


def read(path: Path, *, digest: str | None = None) -> dict[str, Any]:
    """Return the content of a manifest file.

    Args:
        path: the file.
        digest: SHA-256 that the library says its manifest has, in hexadecimal; None checks nothing.

    Raises:
        FileError: it cannot be read, is no manifest, or is that of another library.
    """
    refuse_special(path, "the manifest cannot be read")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileError(f"the manifest cannot be read: {error.strerror}", where=str(path)) from error
    if digest is not None and hashlib.sha256(data).hexdigest() != digest:
        raise _of_another(path)
    return parse(data, str(path))


def read_beside(library: Path) -> dict[str, Any]:
    """Return the content of the manifest beside a library that is not loaded, since nothing here may run it.

    Raises:
        FileError: as `read`.
    """
    path = manifest_path(library)
    content = read(path)
    # The digest lies in the payload's header; a chance match elsewhere is none.
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        if whole.rfind(hashlib.sha256(path.read_bytes()).digest()) < 0:
            raise _of_another(path)
    return content


def _of_another(path: Path) -> FileError:
    return FileError(
        "the manifest is not that of the library beside it", where=str(path), hint="Compile the model again, or copy both files."
    )
