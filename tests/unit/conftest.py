"""The same examples of hypothesis in every run, however slow the machine: a failure is a failure of the change at hand."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("repeatable", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")
