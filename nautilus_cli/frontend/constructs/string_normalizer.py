"""StringNormalizer: strings without those that a list names, in upper or lower case.

The one operator on strings that is compiled: their code points are numbers, and all that it does is arithmetic on them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import AttributeProto

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.constructs.base import Construct, Occurrence
from nautilus_cli.frontend.entities import Entity, Text, kind
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.types import BOOL, I32, U32
from nautilus_cli.numerics.letter_case import PAGE, converted, tables
from nautilus_cli.numerics.strings import code_points
from nautilus_cli.ops.numbers import progression
from nautilus_cli.ops.places import places
from nautilus_cli.ops.wide import cast, reshape

_ACTIONS = ("LOWER", "UPPER", "NONE")

_OTHER_CASES = ("az", "lt", "tr")
"""Languages whose upper and lower case are not those of the rest. Source: Unicode, SpecialCasing.txt."""


def _build(call: Occurrence) -> Sequence[Entity | None]:
    call.count(1, 1)
    text = call.required(0)
    if not isinstance(text, Text):
        raise call.error(f"operand 0 is {kind(text)}; the specification requires a tensor of strings")
    *lead, width = text.points.type.static
    if len(lead) not in (1, 2) or (len(lead) == 2 and lead[0] != 1):
        raise call.error(f"its operand has the shape {lead}; the specification allows [C] and [1, C]")
    action = _string(call, "case_change_action", "NONE")
    if action not in _ACTIONS:
        raise call.error(f"case_change_action is {quoted(action)}; the specification allows {', '.join(_ACTIONS)}")
    language = _string(call, "locale", "en_US").replace("-", "_").partition("_")[0].lower()
    if action != "NONE" and language in _OTHER_CASES:
        raise call.error(f"the locale's language {quoted(language)} has rules of its own for upper and lower case, which are not supported")
    points = reshape(call.builder, cast(call.builder, text.points, I32), (lead[-1], width))
    words = _stop_words(call, width)
    compared = action if action != "NONE" else "LOWER"
    ignores_case = not call.integer("is_case_sensitive", 0) and words.size > 0
    other = _in_case(call, points, compared) if action != "NONE" or ignores_case else points
    result = other if action != "NONE" else points
    if words.size or lead[-1] == 0:
        result = _without(call, result, other if ignores_case else points, converted(words, compared) if ignores_case else words)
    count = result.type.static[0]
    return [Text(reshape(call.builder, cast(call.builder, result, U32), (*lead[:-1], count, width)))]


def _string(call: Occurrence, name: str, default: str) -> str:
    if name not in call.attributes:
        return default
    if call.attributes[name].type != AttributeProto.STRING:
        raise call.error(f"attribute {quoted(name)} is no string, which the specification requires")
    return call.attributes[name].s.decode("utf-8", "replace")


def _stop_words(call: Occurrence, width: int) -> np.ndarray:
    """Return the code points of the strings to leave out, [words, WIDTH]; longer ones are equal to no string."""
    if "stopwords" not in call.attributes:
        return np.zeros((0, width), np.int32)
    if call.attributes["stopwords"].type != AttributeProto.STRINGS:
        raise call.error("attribute 'stopwords' is no list of strings, which the specification requires")
    try:
        words = [word.decode() for word in call.attributes["stopwords"].strings]
    except UnicodeDecodeError as error:
        raise ModelError("attribute 'stopwords' holds what is not UTF-8", where=call.where) from error
    fitting = sorted({word for word in words if len(word) <= width and "\0" not in word})
    return code_points(np.array(fitting, object), width, call.where).astype(np.int32)


def _in_case(call: Occurrence, points: Value, case: str) -> Value:
    """Return code points in another case."""
    node = call.builder.node
    pages, added = tables(case)
    size, last = call.constant(np.int32(PAGE)), call.constant(np.int32(pages.size - 1))
    page = node("Gather", [call.constant(pages), node("Min", [node("Div", [points, size]), last])])
    place = node("Add", [node("Mul", [page, size]), node("Mod", [points, size])])
    return node("Add", [points, node("Gather", [call.constant(added), place])])


def _without(call: Occurrence, points: Value, compared: Value, words: np.ndarray) -> Value:
    """Return the strings whose COMPARED form is none of the WORDS; one empty string where that leaves none.

    Args:
        points: [count, width].
        compared: [count, width].
        words: [words, width].
    """
    node = call.builder.node
    count, width = points.type.static
    if count == 0:
        return call.constant(np.zeros((1, width), np.int32))
    same = node("Equal", [reshape(call.builder, compared, (count, 1, width)), call.constant(words)])
    is_word = node("ReduceMin", [cast(call.builder, same, I32), call.constant([2])], keepdims=0)
    is_kept = node("Sub", [call.constant(np.int32(1)), node("ReduceMax", [is_word, call.constant([1])], keepdims=0)])
    is_any = node("ReduceMax", [is_kept, call.constant([0])], keepdims=1)
    first = cast(call.builder, node("Equal", [progression(call.builder, count, I32), call.constant(np.int32(0))]), I32)
    # Where nothing is kept the first string is, with all its code points 0.
    is_stored = cast(call.builder, node("Max", [is_kept, node("Sub", [first, is_any])]), BOOL)
    found = places(call.builder, is_stored, call.size_name(0))
    return node("Gather", [node("Mul", [points, is_any]), found], axis=0)


CONSTRUCT = Construct(
    name="StringNormalizer",
    build=_build,
    source="ONNX 28, StringNormalizer-10",
    attributes=("case_change_action", "is_case_sensitive", "locale", "stopwords"),
    since=10,
)
