"""The comparison of onnx's runner: equal types and shapes, elements within the case's tolerance.

Source: onnx.backend.test.runner, `Runner.assert_similar_outputs`, against which a test holds this one. It is not called, since releases
of onnx before bfloat16 was compared there are in use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_BFLOAT16_RTOL = 2**-6
"""The runner's: two units in the last place."""


def mismatch(wanted: Sequence[Any], found: Sequence[Any], *, rtol: float, atol: float) -> str | None:
    """Return what is wrong with outputs; None where nothing is."""
    if len(wanted) != len(found):
        return f"{len(found)} outputs; {len(wanted)} are wanted"
    for number, (expected, given) in enumerate(zip(wanted, found, strict=True)):
        wrong = _differs(expected, given, rtol, atol)
        if wrong:
            return f"output {number}: {wrong}"
    return None


def _differs(wanted: Any, found: Any, rtol: float, atol: float) -> str | None:
    if isinstance(wanted, list | tuple):
        return mismatch(wanted, found, rtol=rtol, atol=atol)
    wanted, found = np.asarray(wanted), np.asarray(found)
    if wanted.shape != found.shape:
        return f"shape {list(found.shape)}; wanted is {list(wanted.shape)}"
    if wanted.dtype != found.dtype:
        return f"type {found.dtype}; wanted is {wanted.dtype}"
    if wanted.dtype.kind == "V":  # of ml_dtypes: bfloat16, fp8, four bits
        rtol = max(rtol, _BFLOAT16_RTOL) if wanted.dtype.name == "bfloat16" else rtol
        wanted, found = wanted.astype(np.float32), found.astype(np.float32)
    with np.errstate(all="ignore"):
        close = wanted == found if wanted.dtype == object else np.isclose(found, wanted, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return None
    place = tuple(int(i) for i in np.argwhere(~close)[0])
    return f"{int((~close).sum())} of {close.size} elements differ, at {list(place)} {found[place]} for {wanted[place]}"
