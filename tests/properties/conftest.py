"""How hard the properties look: a fixed, bounded search in every run, a wider one where HYPOTHESIS_PROFILE asks for it."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# The guard of every test is set up once for all examples, which is what is wanted here.
QUIET = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)

settings.register_profile("ci", deadline=None, derandomize=True, database=None, max_examples=100, suppress_health_check=QUIET)
settings.register_profile("wide", deadline=None, derandomize=False, database=None, max_examples=5000, suppress_health_check=QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
