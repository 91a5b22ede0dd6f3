"""The steps of a search for a placement, in words and rows."""

from __future__ import annotations

from collections.abc import Sequence

from nona.report.placements.certificate_text import plus_minus
from nona.report.text import time_text
from nona.results.placement.search import SearchStep
from nona.units import format_time

ORIGINS = {"formula": "formula's optimum", "local": "all local", "spread": "all spread", "search": "search"}


def origin_words(origin: str) -> str:
    """The origin of a step in a word or two.

    >>> origin_words("local"), origin_words("expert")
    ('all local', 'expert')
    """
    return ORIGINS.get(origin, origin)


def best_so_far(steps: Sequence[SearchStep]) -> str:
    """The last step in a sentence.

    >>> none = {"lower_bound_s": None, "gap": None}
    >>> best_so_far([SearchStep(elapsed_s=1.0, objective_s=0.09, error_s=0.0, origin="local", **none)])
    'Best so far: mean JCT 90 ms (all local), no bound yet'
    """
    last = steps[-1]
    mean = f"{time_text(last.objective_s)} {plus_minus(last.objective_s, last.error_s)}".strip()
    gap = (
        "no bound yet"
        if last.gap is None
        else f"gap {100 * last.gap:.2g} % to the formula's bound of {time_text(last.lower_bound_s)}"
    )
    return f"Best so far: mean JCT {mean} ({origin_words(last.origin)}), {gap}"


def step_rows(steps: Sequence[SearchStep]) -> list[dict[str, str]]:
    """A row for every step: time, origin, mean JCT, gap to the bound."""
    return [
        {
            "after": time_text(s.elapsed_s),
            "best so far": origin_words(s.origin),
            "mean JCT": f"{time_text(s.objective_s)} {plus_minus(s.objective_s, s.error_s)}".strip(),
            "gap": "no bound yet" if s.gap is None else f"{100 * s.gap:.2g} %",
        }
        for s in steps
    ]


def early_text(after_s: float) -> str:
    """The note on a result whose search was cancelled."""
    return (
        f"Cancelled early, after {format_time(after_s, 2)}: this is the best so far. Solve again for a "
        "complete search."
    )
