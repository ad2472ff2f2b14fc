"""The cases that are expected not to pass, with the reason of each: one strict file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.harness import Outcome

FILE = Path(__file__).with_name("expected_failures.toml")

_HEAD = """\
# Cases of onnx.backend.test that do not pass, by reason. The file is strict: a case that starts to pass must leave it, and one that fails
# must be in it. `python -m tests.conformance --update-expected` takes out what passes; what is added is written by hand.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How outcomes stand to what is expected.

    Attributes:
        failures: cases that should have passed, with what became of them.
        successes: cases that pass and must leave the file.
    """

    failures: Mapping[str, Outcome]
    successes: tuple[str, ...]

    @property
    def is_good(self) -> bool:
        """Whether everything is as expected."""
        return not self.failures and not self.successes


def read(path: Path = FILE) -> dict[str, str]:
    """Return the reason of each case that is expected not to pass.

    Raises:
        ValueError: a case is named twice, or has no reason.
    """
    reasons: dict[str, str] = {}
    for group in tomllib.loads(path.read_text()).get("group", []):
        if not group["reason"].strip():
            raise ValueError(f"{path.name}: a group of {len(group['cases'])} cases has no reason")
        for key in group["cases"]:
            if key in reasons:
                raise ValueError(f"{path.name}: {key} is named twice")
            reasons[key] = group["reason"]
    return reasons


def write(reasons: Mapping[str, str], path: Path = FILE) -> None:
    """Write the file, in order of reason and case."""
    lines = [_HEAD]
    for reason in dict.fromkeys(reasons.values()):
        lines += ["[[group]]", f"reason = {json.dumps(reason, ensure_ascii=False)}", "cases = ["]
        lines += [f"  {json.dumps(key)}," for key in sorted(key for key, why in reasons.items() if why == reason)]
        lines += ["]", ""]
    path.write_text("\n".join(lines))


def judge(outcomes: Mapping[str, Outcome], reasons: Mapping[str, str], *, is_strict: bool = True) -> Verdict:
    """Hold outcomes against the reasons.

    Args:
        outcomes: of the cases that ran.
        reasons: of those that are expected not to pass.
        is_strict: whether these may not pass; the file is the emulator's, and on a GPU sums of another order may round another way.
    """
    passed = (key for key, outcome in outcomes.items() if outcome.status == "passed" and key in reasons)
    return Verdict(
        failures={key: outcome for key, outcome in outcomes.items() if outcome.status != "passed" and key not in reasons},
        successes=tuple(passed) if is_strict else (),
    )


def without(reasons: Mapping[str, str], keys: Iterable[str]) -> dict[str, str]:
    """Return the reasons of the other cases."""
    gone = set(keys)
    return {key: reason for key, reason in reasons.items() if key not in gone}
