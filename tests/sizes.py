"""How much a run of the suite tries: `make test` a part of everything, `make verify` all of it.

`make verify` sets NONA_FULL and runs the tests that are marked `verify`, those that are marked `sized` (more
jobs or cases of the same), and all of hypothesis.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

FULL = os.environ.get("NONA_FULL") == "1"
settings.register_profile(
    "nona", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("nona")


def examples(most, **others):
    """Hypothesis' settings: ``most`` examples at full size, an eighth of them and at least 4 every day."""
    return settings(max_examples=most if FULL else min(most, max(4, most // 8)), **others)


def sized(small, full):
    """A number of jobs or cases; the test that uses it is marked ``sized``."""
    return full if FULL else small


def first(most, cases):
    """The cases as parameters: all but the first ``most`` are marked ``verify``."""
    return [
        case if i < most else pytest.param(*_values(case), marks=pytest.mark.verify)
        for i, case in enumerate(cases)
    ]


def _values(case):
    return tuple(case) if isinstance(case, tuple | list) else (case,)
