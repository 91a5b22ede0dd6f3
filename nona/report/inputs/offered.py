"""Offered load: the utilisation that the mix causes before anything is placed, row by row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nona.units import format_time


@dataclass(frozen=True, slots=True)
class Offered:
    """Utilisations by background and by the queries of the mix.

    ``queries`` is that of the fullest kind of executor, ``kind``; tasks are drawn uniformly over all
    executors, so it does not depend on the placement. ``shares`` are those of the rows in it.
    """

    background: float
    queries: float
    kind: str
    shares: tuple[float, ...]

    @property
    def total(self) -> float:
        """Background and queries together; from 1 on the executors are overloaded."""
        return self.background + self.queries

    @property
    def factor(self) -> float:
        """The factor on the present rates that saturates the executors; ``inf`` without arrivals."""
        return (1.0 - self.background) / self.queries if self.queries > 0 else math.inf


def offered_load(
    rates: Sequence[float], seconds: Mapping[str, Sequence[float]], executors: int, background: float
) -> Offered:
    """ρ_k = background + Σ_j λ_j·T_jk / E for each kind k of executor; the fullest one counts.

    Parameters
    ----------
    rates
        λ_j, 1/s.
    seconds
        Kind of executor → T_jk, seconds of one query of each row on it.
    executors
        E, all kinds together.

    >>> offered_load([100.0, 50.0], {"a100": [0.01, 0.02]}, 4, 0.2).total
    0.7
    """
    work = {k: [r * t for r, t in zip(rates, row, strict=True)] for k, row in seconds.items()}
    kind = max(work, key=lambda k: sum(work[k]))
    total = sum(work[kind])
    shares = tuple(w / total if total > 0 else 1 / len(rates) for w in work[kind])
    return Offered(background, total / executors, kind, shares)


def load_text(what: str, background: float, queries: float) -> str:
    """A sentence on the utilisation of a resource and the rates that would saturate it.

    >>> load_text("executors", 0.2, 0.4)
    'The mix and the background fill 60 % of the executors; 2 times the rate saturates them.'
    >>> load_text("link", 0.0, 1.5)
    'The mix asks for 150 % of the link: it is overloaded; 0.667 times the rate saturates it.'
    """
    total, pronoun = background + queries, "it" if what == "link" else "them"
    factor = (1 - background) / queries if queries > 0 else math.inf
    tail = (
        f"{factor:.3g} times the rate saturates {pronoun}"
        if math.isfinite(factor)
        else "queries send nothing"
    )
    who = "The mix and the background" if background > 0 else "The mix"
    if total >= 1:
        state = "it is overloaded" if what == "link" else "they are overloaded"
        verb = "ask" if background > 0 else "asks"
        return f"{who} {verb} for {100 * total:.3g} % of the {what}: {state}; {tail}."
    verb = "fill" if background > 0 else "fills"
    return f"{who} {verb} {100 * total:.3g} % of the {what}; {tail}."


def slo_text(slo_s: float | None, total_s: float, critical_s: float, varies: bool) -> tuple[str, str]:
    """Whether an SLO is possible on an idle cluster: ``ok``, ``split`` or ``never``, and a sentence.

    ``total_s``: a query on one idle executor; ``critical_s``: its longest chain, which no placement
    goes below; ``varies``: service times are drawn, so these are means.

    >>> slo_text(0.01, 0.022, 0.014, False)[0], slo_text(0.02, 0.022, 0.014, False)[0]
    ('never', 'split')
    """
    alone, chain = format_time(total_s), format_time(critical_s)
    possible = f"An idle executor takes {alone}; no placement takes less than {chain}"
    if slo_s is None:
        return "ok", f"{possible}. No SLO is set."
    slo = format_time(slo_s)
    if slo_s < critical_s:
        word = "rarely" if varies else "never"
        return "never", (
            f"This SLO can {word} be met: the longest chain alone takes {chain} on an idle executor, more "
            f"than {slo}. Raise the SLO, or choose a faster GPU or a smaller model."
        )
    if slo_s < total_s:
        return "split", (
            f"{possible}: one server alone misses the SLO of {slo}; only a query that is split can meet it."
        )
    return (
        "ok",
        f"{possible}: the SLO of {slo} leaves {format_time(slo_s - total_s)} for waits on one server.",
    )
