"""What becomes of calls that are late, by name."""

from __future__ import annotations

from dataclasses import dataclass

from nona.errors import ScenarioError
from nona.registry import Registry


@dataclass(frozen=True, slots=True)
class LateRule:
    """A rule for jobs that no configuration of their policy keeps in time.

    Attributes
    ----------
    name, title, about
        As in the scenario file; what people read; what is done, in one clause.
    fastest
        Whether such jobs get the fastest configuration instead of the cheapest.
    drops
        Whether calls that cannot be in time any more leave the platform unserved.
    """

    name: str
    title: str
    about: str
    fastest: bool = False
    drops: bool = False


LATE: Registry[LateRule] = Registry(
    "Rule for late calls",
    (
        LateRule("keep", "kept, as cheap as possible", "they are served in the cheapest configuration"),
        LateRule("fastest", "served as fast as possible", "they are served in the fastest one", fastest=True),
        LateRule(
            "drop",
            "dropped",
            "a call that cannot end within its SLO even in the fastest configurations, without waiting, is "
            "not served and counts as a miss; others that are late are served in the fastest one",
            fastest=True,
            drops=True,
        ),
    ),
    ScenarioError,
)
FORMERLY = {"cheapest": "keep"}


def by_present_name(value: object) -> object:
    """A rule's present name for a former one; anything else as it is.

    >>> by_present_name("cheapest"), by_present_name("drop")
    ('keep', 'drop')
    """
    return FORMERLY.get(value, value) if isinstance(value, str) else value
