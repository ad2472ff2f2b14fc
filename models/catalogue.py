"""What lies below models/: every folder with a model.toml, and the graphs in it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent
SUFFIX = ".onnx.xz"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedGraph:
    """A graph without its weights (see `weightless`).

    Attributes:
        path: the file, named [bBATCH.]EXPORTER.TYPE.onnx.xz.
        exporter: `dynamo` or `torchscript`.
        dtype: `fp32` or `fp16`.
        batch: size of the first dimension; 0 where that and the number of tokens are open.
    """

    path: Path
    exporter: str
    dtype: str
    batch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A folder below models/.

    Attributes:
        name: of the folder.
        title: for people.
        task: what goes in and out.
        source: where the topology and the weights are from.
        licence: of the source, as an SPDX identifier.
        notes: what else to know.
        missing: what Nautilus lacks to compile it, as its error says; empty where it compiles.
        shapes: static shapes to compile it with, by input name, where its own are dynamic.
        open: shapes with ranges in them, `LOW..HIGH/DIVISOR@POINT`, for one library that serves many sizes; inputs whose dimensions have
            the same names follow.
        bindings: contents of inputs to compile it with, by name, where they decide a branch.
        ranges: lowest and highest value of inputs to verify it on, by name.
        graphs: committed graphs, by file name.
        is_fetched: whether `fetch` gets it instead.
    """

    name: str
    title: str
    task: str
    source: str
    licence: str
    notes: str = ""
    missing: str = ""
    shapes: dict[str, list[int]] = field(default_factory=dict)
    open: dict[str, list[int | str]] = field(default_factory=dict)
    bindings: dict[str, str] = field(default_factory=dict)
    ranges: dict[str, list[float]] = field(default_factory=dict)
    graphs: tuple[PackedGraph, ...] = ()
    is_fetched: bool = False


def catalogue(root: Path = ROOT) -> dict[str, Model]:
    """Return every model by name, in order of name."""
    return {path.parent.name: _model(path.parent) for path in sorted(root.glob("*/model.toml"))}


def graph(name: str, exporter: str, dtype: str, batch: int = 1) -> Path:
    """Return the path of a committed graph.

    Raises:
        KeyError: there is none; the message lists those of the model.
    """
    graphs = catalogue()[name].graphs
    for candidate in graphs:
        if (candidate.exporter, candidate.dtype, candidate.batch) == (exporter, dtype, batch):
            return candidate.path
    raise KeyError(f"{name} has no graph {exporter}.{dtype} of batch {batch}; it has {', '.join(g.path.name for g in graphs)}")


def _model(folder: Path) -> Model:
    description = tomllib.loads((folder / "model.toml").read_text(encoding="utf-8"))
    graphs = tuple(_graph(path) for path in sorted(folder.glob(f"*{SUFFIX}")))
    return Model(name=folder.name, graphs=graphs, is_fetched=(folder / "fetch.toml").is_file(), **description)


def _graph(path: Path) -> PackedGraph:
    *batch, exporter, dtype = path.name.removesuffix(SUFFIX).split(".")
    number = 0 if batch == ["open"] else int(batch[0].removeprefix("b")) if batch else 1
    return PackedGraph(path=path, exporter=exporter, dtype=dtype, batch=number)
