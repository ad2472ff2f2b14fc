"""Fills the generated parts of README.md (the C example, the targets, the table of operators) and writes docs/operators.md.

Usage: python docs/readme.py [--check]                  --check only says, by the exit code, whether all is up to date
       python docs/readme.py --conformance RESULT.json  also takes counts from what `make conformance ARGS='--json RESULT.json'` wrote;
                                                        docs/conformance.json keeps them
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from onnx import defs, helper

from nautilus_cli.frontend.constructs.registry import constructs
from nautilus_cli.frontend.opsets import OLDEST, newest
from nautilus_cli.frontend.schema_functions import schema_function
from nautilus_cli.frontend.variants import VARIANTS
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F32, TensorType
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Anchor, Cast, Decompose, HostOnly, Movement, Pointwise, Reduction
from nautilus_cli.passes.legalization.supported import MOST_SPATIAL
from nautilus_cli.targets.registry import targets

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
EXAMPLE = ROOT / "tests/e2e/example.c"
PAGE = ROOT / "docs/operators.md"
RESULTS = ROOT / "docs/conformance.json"

KINDS: tuple[tuple[str, type | tuple[type, ...]], ...] = (
    ("kernel families of their own", Anchor),
    ("reductions", Reduction),
    ("elementwise, fused", (Pointwise, Cast)),
    ("movement, absorbed into loads", Movement),
    ("written in simpler ones", Decompose),
    ("evaluated at compile time", HostOnly),
)
BY_DEFINITION = "by ONNX's own definition"
AT_IMPORT = "settled at import"
COUNTED = "sized by kernels"

OWN, ONNX = "nautilus", "ai.onnx"
"""Domains: of operators that only passes make, and ONNX's own."""


@cache
def supported() -> Mapping[str, str]:
    """Return how kernels come of each operator, by its key: the name, with `domain::` before it outside ONNX's own domain."""
    known = {name: operator for name, operator in operators().items() if domain(name) != OWN}
    found = {name: next(text for text, kind in KINDS if isinstance(o.lowering, kind)) for name, o in known.items()}
    found = dict.fromkeys(constructs(), AT_IMPORT) | found
    found |= {name: COUNTED for name in constructs() if name in operators() and isinstance(operators()[name].lowering, HostOnly)}
    found |= dict.fromkeys(set(VARIANTS) - set(found), "read as their newer form")
    bodies = {schema.name: body(schema) for schema in defs.get_all_schemas() if schema.domain == "" and schema.name not in found}
    defined = {name for name, parts in bodies.items() if parts and parts <= {*found, *bodies}}
    while any(not bodies[name] <= {*found, *defined} for name in defined):
        defined = {name for name in defined if bodies[name] <= {*found, *defined}}
    return found | dict.fromkeys(defined, BY_DEFINITION)


def body(schema: Any) -> set[str]:
    """Return the operators that ONNX defines one by, for float32 operands; none where it does not."""
    required = {name: default(attribute) for name, attribute in schema.attributes.items() if attribute.required}
    operands = [Value(TensorType(F32, (4, 4))) for port in schema.inputs if port.option == defs.OpSchema.FormalParameterOption.Single]
    node = helper.make_node(schema.name, [f"i{n}" for n in range(len(operands))], [f"o{n}" for n in range(schema.min_output)], **required)
    found = schema_function(node, schema.since_version, operands)
    return set() if found is None else {part.op_type for part in found.node}


def default(attribute: Any) -> Any:
    """Return a value of an attribute's kind."""
    return {"INT": 1, "FLOAT": 1.0, "STRING": "", "INTS": [1], "FLOATS": [1.0]}.get(attribute.type.name, 1)


def domain(name: str) -> str:
    """Return the domain of an operator's key."""
    return name.rpartition("::")[0] or ONNX


def support_table() -> str:
    """Return the operators by how kernels come of them, as a Markdown table with a column a domain."""
    domains = sorted({domain(name) for name in supported()}, key=lambda d: (d != ONNX, d))
    own, *others = (sum(domain(name) == d for name in supported()) for d in domains)
    counts = [
        f"{own} operators of ONNX (opsets {OLDEST} to {newest()})",
        *(f"{n} of {d}" for n, d in zip(others, domains[1:], strict=True)),
    ]
    lines = [
        f"{' and '.join(counts)}: [docs/operators.md](docs/operators.md) lists each with its opsets and its limits.",
        "`nautilus check MODEL` says what a model needs that is missing.",
        "",
        f"| how | {' | '.join(domains)} |",
        f"|---|{'---|' * len(domains)}",
    ]
    for title in dict.fromkeys([*(title for title, _ in KINDS), *sorted(set(supported().values()))]):
        cells = [", ".join(sorted(plain(n) for n, how in supported().items() if how == title and domain(n) == d)) for d in domains]
        if any(cells):
            lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def plain(name: str) -> str:
    """Return an operator's key without its domain."""
    return name.rpartition("::")[2]


def opsets(name: str) -> str:
    """Return the opset versions of its domain that an operator is read from."""
    if domain(name) != ONNX:
        return "1"
    schemas = [schema for schema in defs.get_all_schemas_with_history() if schema.name == name and schema.domain == ""]
    if not schemas:  # what exporters write into ONNX's domain although it is not there
        return "any"
    first = max(OLDEST, min(schema.since_version for schema in schemas))
    ended = [schema.since_version - 1 for schema in schemas if schema.deprecated]
    return f"{first}–{min([*ended, newest()])}"


def limits(name: str) -> str:
    """Return what is refused of an operator."""
    operator = operators().get(name)
    if operator is None:
        return ""
    lowering, found = operator.lowering, []
    if isinstance(lowering, HostOnly) and name not in constructs() and "must be known" in lowering.reason:
        found.append(lowering.reason)
    if isinstance(lowering, Anchor) and lowering.slides_windows:
        found.append(f"up to {MOST_SPATIAL} spatial dimensions")
    results = defs.get_schema(name).max_output if domain(name) == ONNX and defs.has(name) else 1
    if isinstance(lowering, Anchor) and lowering.results < results:
        found.append(f"the first {lowering.results} of {results} results" if lowering.results > 1 else f"the first of {results} results")
    return "; ".join(found)


def operators_page(results: Mapping[str, Any] | None) -> str:
    """Return docs/operators.md.

    Args:
        results: counts of a conformance run; None where there are none.
    """
    lines = [
        "# Operators",
        "",
        "Generated by `python docs/readme.py` from the registry of operators.",
        "",
        "*How*: an operator has a kernel family of its own, is fused into others' kernels, is written in simpler ones, and so on.",
        "*Opsets*: versions of its domain that a model may declare. Every operator checks its operands and attributes at compile time;",
        "what does not fit is an error that names the node, and `nautilus check MODEL` lists all of them.",
    ]
    if results is not None:
        lines += conformance(results)
    for d in sorted({domain(name) for name in supported()}, key=lambda d: (d != ONNX, d)):
        counted = results is not None and d == ONNX
        lines += ["", f"## {d}", "", f"| operator | how | opsets |{' cases |' if counted else ''} limits | source |"]
        lines.append(f"|---|---|---|{'---|' if counted else ''}---|---|")
        for name in sorted((n for n in supported() if domain(n) == d), key=plain):
            known = operators().get(name) or constructs().get(name)
            cases = f" {passed(results, plain(name))} |" if counted and results is not None else ""
            source = known.source if known is not None else "ONNX"
            lines.append(f"| {plain(name)} | {supported()[name]} | {opsets(name)} |{cases} {limits(name)} | {source} |")
    return "\n".join(lines) + "\n"


def conformance(results: Mapping[str, Any]) -> list[str]:
    """Return the lines on a conformance run."""
    rows = [f"| {suite} | {count['passed']} | {count['all']} |" for suite, count in results["suites"].items()]
    unsupported = [
        f"{name} ({count['passed']} of {count['all']})" for name, count in results["operators"].items() if name not in supported()
    ]
    lines = [
        "",
        "## Conformance",
        "",
        f"Cases of `onnx.backend.test` of onnx {results['versions']['onnx']} that pass on the target {results['target']},",
        "with the tolerances of onnx's own runner, as `make conformance` counts them. *Cases* below are those of each operator.",
        "",
        "| suite | passed | of |",
        "|---|---|---|",
        *rows,
    ]
    return [*lines, "", f"Not in the tables below: {', '.join(unsupported)}."] if unsupported else lines


def passed(results: Mapping[str, Any], name: str) -> str:
    """Return how many cases of an operator pass, of how many."""
    count = results["operators"].get(name)
    return "–" if count is None else f"{count['passed']} of {count['all']}"


def kept_results() -> dict[str, Any] | None:
    """Return the counts that docs/conformance.json keeps, None where it is missing."""
    found: dict[str, Any] | None = json.loads(RESULTS.read_text()) if RESULTS.exists() else None
    return found


def targets_line() -> str:
    """Return which architectures there are kernels for."""
    *names, last = (name for name, target in targets().items() if not target.is_emulated)
    return f"Kernels compile for {', '.join(names)} and {last}."


def filled(text: str) -> str:
    """Return the README with its generated parts made anew."""
    text = re.sub(r"(<!-- example: .*? -->\n```c\n).*?(\n```)", lambda m: m[1] + EXAMPLE.read_text().rstrip() + m[2], text, flags=re.DOTALL)
    text = re.sub(r"(<!-- targets: .*? -->\n)[^\n]*", lambda m: m[1] + targets_line(), text)
    return re.sub(r"(<!-- support: .*? -->\n).*?(\n\n## )", lambda m: m[1] + support_table() + m[2], text, flags=re.DOTALL)


def main(arguments: list[str]) -> int:
    """Write the generated files, or with --check only say whether they are up to date."""
    match arguments:
        case ["--conformance", path]:
            run = json.loads(Path(path).read_text())
            RESULTS.write_text(json.dumps({key: run[key] for key in ("operators", "suites", "target", "versions")}, indent=1) + "\n")
        case [] | ["--check"]:
            pass
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    made = {README: filled(README.read_text()), PAGE: operators_page(kept_results())}
    if arguments == ["--check"]:
        return int(any(not path.exists() or path.read_text() != text for path, text in made.items()))
    for path, text in made.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
