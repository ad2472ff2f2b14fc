"""A family's schedules as fields to draw."""

from __future__ import annotations

import pytest
from fake_family import TARGET, Family, Problem, Schedule

from nautilus_cli.ir.types import F16, F32
from nautilus_cli.kernels.registry import families
from nautilus_cli.targets.registry import target
from nautilus_cli.tuning.fields import canonical, to_fields, to_schedule
from nautilus_cli.tuning.space import space

PROBLEM = Problem(n=16)


def test_only_fields_that_decide_are_drawn():
    found = space(Family(), PROBLEM, TARGET)
    assert found.choices == {"tile": (1, 2, 4, 8, 16, 32), "is_split": (False, True), "kind": ("a", "b", "c")}
    assert len(found.schedules) == 6 * 2 * 3 - 3


def test_a_point_completes_to_its_schedule():
    found = space(Family(), PROBLEM, TARGET)
    schedule = Schedule(tile=2, is_split=True, kind="b", vector=2)
    assert found.point(schedule) == {"tile": 2, "is_split": True, "kind": "b"}
    assert found.find({"kind": "b", "tile": 2, "is_split": True}) == schedule


def test_a_gap_has_no_schedule():
    assert space(Family(), PROBLEM, TARGET).find({"tile": 1, "is_split": True, "kind": "a"}) is None


def test_a_space_of_one_schedule_draws_nothing():
    class Single(Family):
        def schedules(self, problem, target):
            yield self.analytic

    found = space(Single(), PROBLEM, TARGET)
    assert found.choices == {}
    assert found.find({}) == Single().analytic


@pytest.mark.parametrize(
    ("name", "fields"),
    [("pointwise", {"elements": 4096}), ("row", {"rows": 16, "columns": 768, "row_major": True})],
)
def test_spaces_of_real_families_hold_every_schedule(name: str, fields: dict[str, int]):
    family, hopper = families()[name], target("sm_90a")
    problem = family.problem_type(**fields)
    found = space(family, problem, hopper)
    assert set(found.schedules.values()) == set(family.schedules(problem, hopper))
    assert all(found.find(found.point(schedule)) == schedule for schedule in found.schedules.values())


def test_fields_survive_json():
    schedule = Schedule(tile=2, is_split=True, kind="b", vector=2)
    assert to_schedule(Schedule, to_fields(schedule)) == schedule
    assert to_fields(Problem(n=3, storage=F16)) == {"n": 3, "storage": "f16"}
    assert to_schedule(Problem, {"n": 3, "storage": "f32"}) == Problem(n=3, storage=F32)
    assert canonical({"b": 1, "a": [True]}) == '{"a":[true],"b":1}'


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tile": None}, "no int"),
        ({"tile": True}, "no int"),
        ({"is_split": 1}, "no bool"),
        ({"extra": 1}, "fields are not those of the schedule: extra"),
    ],
)
def test_fields_of_another_version_are_refused(change: dict[str, object], message: str):
    fields = to_fields(Schedule(tile=2, is_split=True, kind="b", vector=2)) | change
    with pytest.raises(ValueError, match=message):
        to_schedule(Schedule, fields)


def test_fields_without_a_json_form_are_refused():
    with pytest.raises(TypeError, match="'n' holds a set"):
        to_fields(Problem(n={1}))
