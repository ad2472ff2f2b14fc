"""The target registry: complete, ordered, read-only, and strict about names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nautilus_cli.errors import InternalError, UsageError
from nautilus_cli.targets.registry import for_capability, index, target, targets


def test_every_architecture_is_found_in_order() -> None:
    assert list(targets()) == ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120", "emulated"]


def test_the_registry_is_read_only_and_the_same_each_time() -> None:
    assert targets() is targets()
    with pytest.raises(TypeError):
        targets()["sm_80"] = target("sm_90a")  # type: ignore[index]


def test_a_duplicate_raises() -> None:
    with pytest.raises(InternalError, match="two targets are named 'sm_80'"):
        index([target("sm_80"), replace(target("sm_86"), name="sm_80")])


def test_an_unknown_target_lists_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"'sm_90' is not a target.*sm_90a"):
        target("sm_90")


@pytest.mark.parametrize(
    ("capability", "name"),
    [
        ((7, 5), None),
        ((8, 0), "sm_80"),
        ((8, 6), "sm_86"),
        ((8, 7), "sm_86"),
        ((8, 9), "sm_89"),
        ((9, 0), "sm_90a"),
        ((10, 0), "sm_100a"),
        ((10, 3), None),  # sm_100a is exact
        ((12, 0), "sm_120"),
        ((12, 1), "sm_120"),
        ((0, 0), None),  # the emulator is no device
    ],
)
def test_the_target_of_a_capability(capability: tuple[int, int], name: str | None) -> None:
    found = for_capability(capability)
    assert (found.name if found else None) == name


@pytest.mark.parametrize("name", targets())
def test_limits_are_consistent(name: str) -> None:
    t = target(name)
    assert t.smem_bytes_block < t.smem_bytes_multiprocessor
    assert t.registers_multiprocessor == 65536
    assert t.threads_multiprocessor % 32 == 0
    assert t.source
    assert t.exact == t.name.endswith("a")
    if not t.is_emulated:
        major, minor = t.capability
        assert t.name.removesuffix("a") == f"sm_{major}{minor}"
        assert t.has_dependent_launch == (major >= 9)
