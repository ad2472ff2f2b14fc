"""The steps of a plan as data for the manifest, and as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nautilus_cli.ir.dims import Symbolic
from nautilus_cli.lowering.program import Choice, Copy, HostRead, Launches, Refuse, Repeat, Step, Word


def steps_data(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Return steps as JSON types, those that a step holds within it."""
    return [_step(step) for step in steps]


def steps_text(steps: Sequence[Mapping[str, Any]], indent: str = "") -> Iterator[str]:
    """Yield what `steps_data` gives as lines, and where the host waits for the device."""
    for step in steps:
        match step["kind"]:
            case "launches":
                last = step["first"] + step["count"] - 1
                yield f"{indent}launches {step['first']}..{last}"
            case "copy":
                yield f"{indent}copy {step['bytes']} bytes"
            case "read":
                yield f"{indent}read {step['size']}: the host waits for it, and plans what follows for what it is"
            case "refuse":
                yield f"{indent}error: {step['message']}"
            case "if":
                known = step["condition"][0] == "integer"
                yield f"{indent}if {step['node']}: the host {'knows' if known else 'waits for'} its condition"
                for branch in ("then", "else"):
                    yield f"{indent}  {branch}:"
                    yield from steps_text(step[branch], f"{indent}    ")
            case _:
                yield f"{indent}loop {step['node']}: {_loop(step)}"
                yield from steps_text(step["body"], f"{indent}  ")


def _loop(step: Mapping[str, Any]) -> str:
    """Return how often a loop runs, and when the host waits for what decides that."""
    trips = step["trips"]
    known = trips is not None and trips[0] == "integer"
    waits = ["before it begins"] if (trips is not None and not known) or step["start"] is not None else []
    waits += ["after each iteration"] if step["condition"] is not None else []
    count = f"{trips[2]} iterations{' at most' if step['condition'] is not None else ''}" if known else f"at most {step['most']} iterations"
    return f"{count}, {_counted(len(step['carries']), 'state')}; the host waits {' and '.join(waits) or 'for nothing'}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _step(step: Step) -> dict[str, Any]:
    match step:
        case Launches():
            return {"count": step.count, "first": step.first, "kind": "launches"}
        case Copy():
            return {"bytes": _plain(step.bytes), "from": _word(step.source), "kind": "copy", "to": _word(step.to)}
        case HostRead():
            return {"from": _word(step.source), "kind": "read", "size": _plain(step.size)}
        case Refuse():
            return {"kind": "refuse", "message": step.message}
        case Choice():
            yes, no = map(steps_data, step.branches)
            return {"condition": _word(step.condition), "else": no, "kind": "if", "node": step.name, "then": yes}
        case Repeat():
            carries = [
                {
                    "bytes": _plain(carry.bytes),
                    "initial": _word(carry.initial),
                    "initial_bytes": _plain(carry.initial_bytes),
                    "read": carry.read,
                    "result": _word(carry.result),
                    "spare": _word(carry.spare),
                    "write": carry.write,
                }
                for carry in step.carries
            ]
            return {
                "body": steps_data(step.body),
                "carries": carries,
                "condition": _word(step.condition),
                "elements": [{"base": _word(e.base), "slot": e.slot, "stride": _plain(e.stride)} for e in step.elements],
                "kind": "loop",
                "most": step.most,
                "node": step.name,
                "start": _word(step.start),
                "trips": _word(step.trips),
            }


def _word(word: Word | None) -> list[Any] | None:
    return None if word is None else [word.kind, word.index, _plain(word.value)]


def _plain(value: int) -> int | str:
    return str(value) if isinstance(value, Symbolic) else value
