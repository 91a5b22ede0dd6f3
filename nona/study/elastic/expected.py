"""About how long a run of elastic jobs takes, said before it begins."""

from __future__ import annotations

import math

from nona.options import Options
from nona.scenario.training_elastic import ElasticSpec
from nona.training.elastic.policies.registry import ELASTIC

SEARCHED_S, LINKED_S, OTHER_S = 35.0, 2.0, 0.7
"""Of 160 jobs on one idle core, at usual ticks: with Pollux's whole search, on a link, without both."""
USUAL_TICK_S = 60.0
WHOLE = 100  # solutions, and generations
FEW_S, MINUTE_S = 10.0, 90.0


def expected_s(spec: ElasticSpec, replications: int) -> float:
    """Seconds on one idle core, by what runs of the shipped workloads took; files count as 160 jobs.

    >>> round(expected_s(ElasticSpec(policies=["pollux", "tiresias"], load=0.5), 2), 2)
    35.35
    >>> expected_text(expected_s(ElasticSpec(policies=["pollux"], tick="1 s"), 1))
    'about 35 minutes'
    """
    each = (_policy_s(entry.name, entry.options, spec.link, replications) for entry in spec.policies)
    return spec.load * sum(each) * USUAL_TICK_S / spec.tick


def _policy_s(owner: str, options: Options, linked: bool, replications: int) -> float:
    policy = ELASTIC.get(owner)
    if policy is None or not policy.drawn:
        return LINKED_S if linked else OTHER_S
    chosen = {**policy.defaults, **options}
    effort = 1.0
    for name in ("population", "generations"):
        value = chosen.get(name)
        effort *= value / WHOLE if isinstance(value, int) else 1.0
    return SEARCHED_S * effort * replications


def expected_text(seconds: float) -> str:
    """A time in words, not more exact than it is known.

    >>> expected_text(3.0), expected_text(31.4), expected_text(200.0)
    ('a few seconds', 'about 40 s', 'about 4 minutes')
    """
    if seconds < FEW_S:
        return "a few seconds"
    if seconds < MINUTE_S:
        return f"about {10 * math.ceil(seconds / 10)} s"
    return f"about {math.ceil(seconds / 60)} minutes"
