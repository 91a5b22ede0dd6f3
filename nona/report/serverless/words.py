"""Numbers of serverless reports as text: money, rates, names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nona.report.text import interval_text, or_dash, share_text

Row = Mapping[str, Any]
PER = 1000  # calls that a cost is given for: one costs some millionths of a dollar


def cost_text(cost: Row) -> str:
    """A cost per call with its interval, for :data:`PER` calls.

    >>> cost_text({"mean": 0.0002, "ci95": [0.00019, 0.00021]}), cost_text({"mean": None, "ci95": None})
    ('$0.2 ± $0.01', '–')
    """
    return interval_text(cost, lambda usd: f"${PER * usd:.3g}")


def dollars(usd: float | None) -> str:
    """The cost of :data:`PER` calls.

    >>> dollars(0.000123), dollars(None)
    ('$0.123', '–')
    """
    return or_dash(usd, lambda known: f"${PER * known:.3g}")


def rate_text(rate: Row | None) -> str:
    """A share in per cent with its interval, or a dash.

    >>> rate_text({"mean": 0.5, "ci95": [0.4, 0.6]}), rate_text(None)
    ('50.0 % ± 10.0 %', '–')
    """
    return "–" if rate is None else interval_text(rate, lambda share: share_text(share, 1))


def ranked(policies: Mapping[str, Row], key: str, highest: bool = False) -> list[str]:
    """Names of the policies by their mean of ``key``, the best first; those without a mean are left out.

    >>> ranked({"a": {"x": {"mean": 2}}, "b": {"x": {"mean": 1}}, "c": {"x": {"mean": None}}}, "x")
    ['b', 'a']
    """
    known = {n: p[key]["mean"] for n, p in policies.items() if p[key] and p[key]["mean"] is not None}
    return sorted(known, key=lambda n: (-known[n] if highest else known[n], n))


def overloaded(policies: Mapping[str, Row]) -> list[str]:
    """Names of the policies with a growing backlog."""
    return [n for n, p in policies.items() if p["state"] == "overloaded"]


def joined(parts: Sequence[str]) -> str:
    """Sentences joined to one paragraph, empty ones left out.

    >>> joined(["One.", "", "Two."])
    'One. Two.'
    """
    return " ".join(p for p in parts if p)
