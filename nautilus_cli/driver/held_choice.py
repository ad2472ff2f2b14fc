"""The schedules that a library holds, so that its kernels can be built once more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nautilus_cli.errors import FileError
from nautilus_cli.kernels.base import Family
from nautilus_cli.targets.base import Target
from nautilus_cli.tuning.fields import canonical, to_fields, to_schedule


class HeldChoice:
    """Chooses the schedule that a library has for a problem, else the family's own choice; see `kernels.base.Choose`.

    Args:
        kernels: of one target, as the manifest has them.
    """

    def __init__(self, kernels: list[Mapping[str, Any]]) -> None:
        self._schedules = {(kernel["family"], canonical(kernel["problem"])): kernel["schedule"] for kernel in kernels}

    def __call__(self, family: Family, problem: Any, target: Target) -> Any:
        """Return a schedule.

        Raises:
            FileError: the manifest's is of another version of the family.
        """
        held = self._schedules.get((family.name, canonical(to_fields(problem))))
        if held is None:
            return family.choose(problem, target)
        try:
            return to_schedule(family.schedule_type, dict(held))
        except ValueError as error:
            message = f"the library has a schedule of {family.name} that this Nautilus does not know: {error}"
            raise FileError(message, hint="Compile the model again.") from error


def held_target(manifest: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the part of a manifest that is about one target.

    Raises:
        FileError: it has none.
    """
    parts: list[Mapping[str, Any]] = [manifest, *manifest["more_targets"]]
    for part in parts:
        if part["target"] == name:
            return part
    raise FileError(f"the manifest says nothing of {name}", hint="Compile the model again.")
