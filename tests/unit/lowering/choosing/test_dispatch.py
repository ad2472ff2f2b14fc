from __future__ import annotations

from nautilus_cli.ir.constructors import symbol
from nautilus_cli.lowering.choosing.dispatch import first_serving
from nautilus_cli.lowering.plan import Alternative


def test_the_first_case_whose_condition_holds_serves() -> None:
    n = symbol("n", 1, 64)
    few, some, none = (Alternative(condition=condition, kernel=k, words=()) for k, condition in enumerate((n - 4, n - 16, 1)))
    assert first_serving((few, some, none), {"n": 4}) is few
    assert first_serving((few, some, none), {"n": 5}) is some
    assert first_serving((few, some, none), {"n": 17}) is None
    assert first_serving((Alternative(condition=0, kernel=3, words=()),), {}) is not None
