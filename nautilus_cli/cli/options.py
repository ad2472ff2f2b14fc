"""Options that subcommands share, and how their values are read.

ONNX names may hold any character, so a value is split at its *last* separator: `a:b=1x3` is the shape of the input `a:b`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypedDict, TypeVar

import click

from nautilus_cli.ir.ranges import DimRange, Size
from nautilus_cli.targets.registry import target as find_target
from nautilus_cli.targets.registry import targets


class ModelChoice(TypedDict):
    """What `model_argument`, `target_option`, `open_graph_options` and `fp32_mode_option` give: the fields of `driver.ModelOptions`."""

    model: Path
    target: str | None
    shapes: dict[str, tuple[Size, ...]]
    dims: dict[str, DimRange]
    bindings: dict[str, str]
    outputs: tuple[str, ...]
    fp32_mode: str


Command = TypeVar("Command", bound=Callable[..., Any])

_SHAPE = re.compile(r"(?P<name>.+)[=:](?P<dims>(?:\d+(?:x\d+)*)?)", re.DOTALL)
_SIZES = r"\d+(?:\.\.\d+(?:/\d+)?)?"
_OPEN_SHAPE = re.compile(rf"(?P<name>.+)[=:](?P<dims>(?:{_SIZES}(?:x{_SIZES})*)?)", re.DOTALL)
_DIMENSION = re.compile(rf"(?P<name>.+)=(?P<range>{_SIZES})(?:@(?P<points>\d+(?:,\d+)*))?", re.DOTALL)
_DIMENSION_SIZE = re.compile(r"(?P<name>.+)=(?P<size>\d{1,18})", re.DOTALL)
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"(?P<name>.+)=(?P<low>{_NUMBER})\.\.(?P<high>{_NUMBER})", re.DOTALL)
_BINDING = re.compile(r"(?P<name>.+)=(?P<value>[^=]+)", re.DOTALL)
_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[kmgt]?i?b?)", re.IGNORECASE)
_TOLERANCE = re.compile(rf"(?:(?P<name>.+)=)?(?P<value>{_NUMBER})", re.DOTALL)


def shape(value: str) -> tuple[str, tuple[int, ...]]:
    """Return the (name, shape) of `NAME=1x3x224x224`; `NAME=` is a scalar's."""
    found = _SHAPE.fullmatch(value)
    if not found:
        raise click.BadParameter(f"'{value}' is not a shape. Write NAME=1x3x224x224, or NAME:1x3x224x224.")
    return found["name"], tuple(int(dim) for dim in found["dims"].split("x") if dim)


def open_shape(value: str) -> tuple[str, tuple[Size, ...]]:
    """Return the (name, shape) of `NAME=1..64x3x224x224`, in which a range leaves a dimension open; `1..512/8` is its multiples of 8."""
    found = _OPEN_SHAPE.fullmatch(value)
    if not found:
        raise click.BadParameter(f"'{value}' is not a shape. Write NAME=1x3x224x224, or NAME=1..64x3x224x224.")
    return found["name"], tuple(_size(dim) for dim in found["dims"].split("x") if dim)


def dimension(value: str) -> tuple[str, DimRange]:
    """Return the (name, range) of `NAME=1..64`, `NAME=8..512/8` or `NAME=1..512@128,256`."""
    found = _DIMENSION.fullmatch(value)
    range_ = _size(found["range"]) if found else None
    if not found or not isinstance(range_, DimRange):
        forms = "NAME=1..64, NAME=64..64 for one size, NAME=8..512/8 for multiples, or NAME=1..512@128,256"
        raise click.BadParameter(f"'{value}' is not a dimension. Write {forms}.")
    points = tuple(int(point) for point in (found["points"] or "").split(",") if point)
    if outside := [point for point in points if not range_.low <= point <= range_.high]:
        raise click.BadParameter(f"'{value}' asks for {outside[0]}, which is not in {range_}.")
    return found["name"], DimRange(range_.low, range_.high, range_.divisor, points)


def dimension_size(value: str) -> tuple[str, int]:
    """Return the (name, size) of `NAME=7`."""
    found = _DIMENSION_SIZE.fullmatch(value)
    if not found:
        raise click.BadParameter(f"'{value}' is not the size of a dimension. Write NAME=7.")
    return found["name"], int(found["size"])


def _size(text: str) -> Size:
    """Read `64`, `1..64` or `8..512/8`."""
    low, is_range, rest = text.partition("..")
    if not is_range:
        return int(low)
    high, _, divisor = rest.partition("/")
    return DimRange(int(low), int(high), int(divisor or 1))


def binding(value: str) -> tuple[str, str]:
    """Return the (name, value) of `NAME=VALUE`; the frontend, which knows the input's type, reads the value."""
    found = _BINDING.fullmatch(value)
    if not found:
        raise click.BadParameter(f"'{value}' binds nothing. Write NAME=VALUE, for example sr=16000.")
    return found["name"], found["value"]


def value_range(value: str) -> tuple[str, tuple[float, float]]:
    """Return the (name, (low, high)) of `NAME=LOW..HIGH`."""
    found = _RANGE.fullmatch(value)
    if not found:
        raise click.BadParameter(f"'{value}' is not a range. Write NAME=LOW..HIGH, for example ids=0..30521.")
    low, high = float(found["low"]), float(found["high"])
    if not -math.inf < low <= high < math.inf:
        raise click.BadParameter(f"'{value}' is an empty range, or one without an end.")
    return found["name"], (low, high)


def tolerance(value: str) -> tuple[str | None, float]:
    """Return the (output or None, tolerance) of `1e-3` or `OUTPUT=1e-3`."""
    found = _TOLERANCE.fullmatch(value)
    number = float(found["value"]) if found else math.nan
    if not found or not 0 <= number < math.inf:
        raise click.BadParameter(f"'{value}' is not a tolerance. Write 1e-3, or OUTPUT=1e-3.")
    return found["name"], number


def percents(value: str) -> tuple[float, ...]:
    """Return the numbers of `95` or `90,95,99`."""
    numbers = [part.strip() for part in value.split(",")]
    if not all(re.fullmatch(_NUMBER, number) and 0 <= float(number) <= 100 for number in numbers):
        raise click.BadParameter(f"'{value}' is not a percentile. Write a number from 0 to 100, or several: 90,95,99.")
    return tuple(float(number) for number in numbers)


def token_ids(value: str) -> tuple[int, ...]:
    """Return the numbers of `15` or `15,27,3`."""
    if not re.fullmatch(r"\d{1,18}(?:,\d{1,18})*", value):
        raise click.BadParameter(f"'{value}' is no list of token ids. Write 15,27,3.")
    return tuple(map(int, value.split(",")))


def byte_count(value: str) -> int:
    """Return the bytes of `1500000`, `1.5MB` (10^6) or `1GiB` (2^30)."""
    found = _SIZE.fullmatch(value.strip())
    unit = found["unit"].lower() if found else "?"
    factors = {"": 1, "b": 1}
    for power, letter in enumerate("kmgt", start=1):
        factors |= {f"{letter}b": 1000**power, f"{letter}ib": 1024**power}
    if not found or unit not in factors:
        raise click.BadParameter(f"'{value}' is not a size. Write bytes, or a number with kB, MB, GB, KiB, MiB or GiB, for example 1GiB.")
    return int(float(found["number"]) * factors[unit]) if "." in found["number"] else int(found["number"]) * factors[unit]


def target(value: str) -> str:
    """Return the name of a target, checked: find_target raises UsageError, which lists the nearest."""
    return find_target(value).name


def target_list(value: str) -> str:
    """Return names of targets separated by commas, checked."""
    return ",".join(target(name.strip()) for name in value.split(","))


def _by_name(_: click.Context, param: click.Parameter, pairs: Sequence[tuple[str | None, Any]]) -> dict[str | None, Any]:
    """Return (name, value) pairs as a dictionary; a name given twice is an error."""
    values: dict[str | None, Any] = {}
    for name, value in pairs:
        if name in values:
            raise click.BadParameter(f"'{name}' is given twice." if name else "it is given twice.", param=param)
        values[name] = value
    return values


def model_argument(command: Command) -> Command:
    """Add the argument MODEL, as `model`."""
    return click.argument("model", type=click.Path(path_type=Path))(command)


def open_graph_options(command: Command) -> Command:
    """Add --shape and --dim with ranges, --bind and --outputs, as `shapes`, `dims`, `bindings` and `outputs`."""
    command = _bind_and_outputs(command)
    command = click.option(
        "--dim",
        "dims",
        type=dimension,
        multiple=True,
        callback=_by_name,
        metavar="NAME=1..64",
        help="The sizes of a dimension that the model names, open to the run; 8..512/8: multiples of 8; 1..512@128,256: chosen for these. "
        "Or the bound of a number that only a run knows, as found.count=0..100.",
    )(command)
    return _shape_option(open_shape, "The shape of an input; once for each. A range, 1..64x3x224x224, leaves a dimension open to the run.")(
        command
    )


def sizes_options(command: Command) -> Command:
    """Add --dim and --shape for sizes of what a library leaves open, as `sizes` and `shapes`."""
    command = click.option(
        "--dim",
        "sizes",
        type=dimension_size,
        multiple=True,
        callback=_by_name,
        metavar="NAME=7",
        help="The size of a dimension that the library leaves open. Default: the smallest, the largest, and sizes between.",
    )(command)
    return _shape_option(shape, "The shape of an input with such dimensions; once for each.")(command)


def _shape_option(read: Callable[[str], tuple[str, tuple[Size, ...]]], text: str) -> Callable[[Command], Command]:
    return click.option("--shape", "shapes", type=read, multiple=True, callback=_by_name, metavar="NAME=1x3x224x224", help=text)


def _bind_and_outputs(command: Command) -> Command:
    command = click.option(
        "--outputs",
        multiple=True,
        metavar="NAME",
        help="A tensor to give out in place of the model's outputs; once for each, and what only the rest needs is left out.",
    )(command)
    return click.option(
        "--bind",
        "bindings",
        type=binding,
        multiple=True,
        callback=_by_name,
        metavar="NAME=VALUE",
        help="Fix an input to a constant, for example sr=16000.",
    )(command)


def target_option(command: Command) -> Command:
    """Add --target, as `target`."""
    help_text = f"One of {', '.join(targets())}. Default: the device present, else emulated."
    return click.option("--target", type=target, metavar="TARGET", help=help_text)(command)


def targets_option(command: Command) -> Command:
    """Add --target for several, as `target`: names separated by commas, or None."""

    def joined(_context: click.Context, _param: click.Parameter, values: Sequence[str]) -> str | None:
        return ",".join(values) or None

    help_text = f"Of {', '.join(targets())}; several, separated by commas, go into one library. Default: the device present, else emulated."
    return click.option("--target", type=target_list, multiple=True, callback=joined, metavar="TARGET[,...]", help=help_text)(command)


def jobs_option(command: Command) -> Command:
    """Add --jobs, as `jobs`."""
    return click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Compilers at once. Default: one a core.")(command)


def fp32_mode_option(command: Command) -> Command:
    """Add --fp32-mode, as `fp32_mode`."""
    return click.option(
        "--fp32-mode",
        type=click.Choice(["ffma", "3xtf32", "tf32"]),
        default="ffma",
        help="How matrices of fp32 are multiplied: in fp32; on tensor cores, each number as the sum of two of tf32; or on tensor cores,"
        " rounded to tf32. [default: ffma]",
    )(command)


def library_argument(command: Command) -> Command:
    """Add the argument LIB.so, as `library`."""
    return click.argument("library", type=click.Path(path_type=Path), metavar="LIB.so")(command)


def device_option(command: Command) -> Command:
    """Add --device, as `device`; 0 by default."""
    number = click.IntRange(min=0)
    return click.option("--device", type=number, default=0, show_default=True, metavar="N", help="Number of the GPU to run on.")(command)


def place_option(command: Command) -> Command:
    """Add --emulated, as `place`: where a library shall run, as `nautilus_cli.load` takes it."""
    help_text = "Run on the emulator also where the library holds code for GPUs."
    return click.option("--emulated", "place", is_flag=True, flag_value="emulated", default="automatic", help=help_text)(command)


def target_device_option(command: Command) -> Command:
    """Add --device for what chooses a target, as `device`; None by default."""
    help_text = "Number of the GPU that decides the default target, and that is run on. Default: the first that fits."
    return click.option("--device", type=click.IntRange(min=0), metavar="N", help=help_text)(command)


def seed_option(what: str) -> Callable[[Command], Command]:
    """Add --seed, as `seed`."""
    return click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help=f"Seed of {what}.")


def ranges_option(command: Command) -> Command:
    """Add --range, as `ranges`."""
    return click.option(
        "--range",
        "ranges",
        type=value_range,
        multiple=True,
        callback=_by_name,
        metavar="NAME=LOW..HIGH",
        help="Lowest and highest value to draw for an input.",
    )(command)


def tolerance_options(command: Command) -> Command:
    """Add --rtol and --atol, as `rtol` and `atol`: dictionaries by output, None for all others."""
    for name, word in (("--atol", "Absolute"), ("--rtol", "Relative")):
        help_text = f"{word} tolerance, of one output or of all. Default: derived from types and sums."
        option = click.option(name, type=tolerance, multiple=True, callback=_by_name, metavar="[OUTPUT=]VALUE", help=help_text)
        command = option(command)
    return command


def json_option(command: Command) -> Command:
    """Add --json, as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(command)
