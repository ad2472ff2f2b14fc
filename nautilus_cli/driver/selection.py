"""Which target to compile for, and whether it can run here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nautilus_cli.errors import DeviceError, UsageError
from nautilus_cli.targets import registry
from nautilus_cli.targets.base import Target
from nautilus_cli.toolchain import device


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A target, and what the user should know about its choice.

    Attributes:
        target: the target.
        runs_here: whether this machine can run it.
        device: number of the device that runs it; 0 for the emulator.
        gpu: name of the device that the target is for; None where there is none here.
        notes: sentences for the user.
    """

    target: Target
    runs_here: bool
    device: int = 0
    gpu: str | None = None
    notes: tuple[str, ...] = ()


def select(name: str | None, number: int | None = None) -> Selection:
    """Return the named target; without a name that of the first device, or the emulator where there is none.

    Args:
        name: of the target.
        number: of the device to use; None for the first that fits.

    Raises:
        UsageError: there is no target of this name.
        DeviceError: there is no device of this number.
    """
    found = device.driver()
    chosen = None if name is None else registry.target(name)
    if chosen is not None and chosen.is_emulated:
        return Selection(target=chosen, runs_here=True)
    devices = found.devices if number is None else (_numbered(found, number),)
    if chosen is not None:
        fits = next((d for d in devices if runs_on(chosen, d.capability)), None)
        if fits is not None:
            return Selection(target=chosen, runs_here=True, device=fits.index, gpu=fits.name)
        why = found.problem or "its architecture is another"
        return Selection(target=chosen, runs_here=False, notes=(f"no device here runs {chosen.name}: {why}.",))
    if devices:
        first = devices[0]
        fitting = registry.for_capability(first.capability)
        if fitting is not None:
            note = f"target {fitting.name}, for the device present ({first.name})."
            return Selection(target=fitting, runs_here=True, device=first.index, gpu=first.name, notes=(note,))
        reason = f"{first.name} has compute capability {first.capability[0]}.{first.capability[1]}, for which there is no target"
    else:
        reason = found.problem or "there is no device"
    note = f"{reason}; target emulated: the library runs on the CPU, for checking results, and its speed says nothing about a GPU."
    return Selection(target=registry.target("emulated"), runs_here=True, notes=(note,))


def select_each(names: str | None, number: int | None = None) -> tuple[Selection, ...]:
    """Return several targets, oldest architecture first and the emulator last.

    Args:
        names: of the targets, separated by commas; None as `select`.
        number: as `select`.

    Raises:
        UsageError: there is no target of a name, or one is named twice.
        DeviceError: there is no device of this number.
    """
    if names is None or "," not in names:
        return (select(names, number),)
    given = names.split(",")
    repeated = next((name for i, name in enumerate(given) if name in given[:i]), None)
    if repeated is not None:
        raise UsageError(f"'{repeated}' is named twice", where="--target")
    chosen = [registry.target(name) for name in given]
    return tuple(select(name, number) for name, known in registry.targets().items() if known in chosen)


def that_runs(selections: Sequence[Selection]) -> Selection | None:
    """Return the target that this machine runs, a GPU's before the emulator; of two that a GPU runs, the one that loading picks."""
    here = [s for s in selections if s.runs_here]
    gpus = [s for s in here if s.gpu is not None]
    if not gpus:
        return here[0] if here else None
    return max((s for s in gpus if s.device == gpus[0].device), key=lambda s: (s.target.exact, s.target.capability))


def _numbered(found: device.Driver, number: int) -> device.Device:
    """Return the device of a number.

    Raises:
        DeviceError: there is none.
    """
    for present in found.devices:
        if present.index == number:
            return present
    there = f"Devices: {', '.join(f'{d.index} ({d.name})' for d in found.devices)}." if found.devices else f"Found: {found.problem}."
    raise DeviceError(f"there is no device {number}", where="--device", hint=there)


def runs_on(target: Target, capability: tuple[int, int]) -> bool:
    """Whether an image for TARGET runs on a device of this compute capability."""
    if target.is_emulated:
        return False
    if target.exact:
        return target.capability == capability
    return target.capability[0] == capability[0] and target.capability[1] <= capability[1]
