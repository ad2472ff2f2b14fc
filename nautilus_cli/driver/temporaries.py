"""What --save-temps keeps: everything between the model and the library, to read or to compile by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nautilus_cli.codegen.render import Rendered
from nautilus_cli.errors import FileError
from nautilus_cli.ir.graph import Graph
from nautilus_cli.ir.text import print_graph
from nautilus_cli.toolchain.builder import Build


def save_temporaries(folder: Path, rendered: Sequence[Rendered], built: Build, graph: Graph) -> None:
    """Write the graph after all passes, and each kernel's text, image and compiler log.

    Raises:
        FileError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "graph.txt").write_text(print_graph(graph))
        for kernel in rendered:
            (folder / f"{kernel.symbol}.cu").write_text(kernel.text)
        for number, image in enumerate(built.images):
            name = image.symbols[0] if len(image.symbols) == 1 else f"image{number}"
            (folder / f"{name}.{'so' if image.kind == 'emulated' else 'cubin'}").write_bytes(image.data)
        for symbol, log in built.logs.items():
            (folder / f"{symbol}.log").write_text(log)
    except OSError as error:
        raise FileError(f"cannot be written: {error.strerror}", where=str(folder), hint="Give --save-temps another folder.") from error
