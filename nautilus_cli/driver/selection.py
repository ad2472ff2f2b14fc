"""Which target to compile for, and whether it can run here."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.targets import registry
from nautilus_cli.targets.base import Target
from nautilus_cli.toolchain import device


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A target, and what the user should know about its choice.

    Attributes:
        target: the target.
        runs_here: whether this machine can run it.
        gpu: name of the device that the target is for; None where there is none here.
        notes: sentences for the user.
    """

    target: Target
    runs_here: bool
    gpu: str | None = None
    notes: tuple[str, ...] = ()


def select(name: str | None) -> Selection:
    """Return the named target; without a name that of the first device, or the emulator where there is none.

    Raises:
        UsageError: there is no target of this name.
    """
    found = device.driver()
    if name is not None:
        chosen = registry.target(name)
        fits = next((d for d in found.devices if _runs_on(chosen, d.capability)), None)
        if chosen.is_emulated or fits is not None:
            return Selection(target=chosen, runs_here=True, gpu=fits.name if fits else None)
        why = found.problem or "its architecture is another"
        return Selection(target=chosen, runs_here=False, notes=(f"no device here runs {chosen.name}: {why}.",))
    if found.devices:
        first = found.devices[0]
        fitting = registry.for_capability(first.capability)
        if fitting is not None:
            note = f"target {fitting.name}, for the device present ({first.name})."
            return Selection(target=fitting, runs_here=True, gpu=first.name, notes=(note,))
        reason = f"{first.name} has compute capability {first.capability[0]}.{first.capability[1]}, for which there is no target"
    else:
        reason = found.problem or "there is no device"
    note = f"{reason}; target emulated: the library runs on the CPU, for checking results, and its speed says nothing about a GPU."
    return Selection(target=registry.target("emulated"), runs_here=True, notes=(note,))


def _runs_on(target: Target, capability: tuple[int, int]) -> bool:
    """Whether an image for TARGET runs on a device of this compute capability."""
    if target.is_emulated:
        return False
    if target.exact:
        return target.capability == capability
    return target.capability[0] == capability[0] and target.capability[1] <= capability[1]
