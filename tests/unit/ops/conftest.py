from __future__ import annotations

from hypothesis import settings

# The same examples in every run: a failure is a failure of the change at hand.
settings.register_profile("repeatable", derandomize=True, database=None)
settings.load_profile("repeatable")
