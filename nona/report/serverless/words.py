"""Numbers of serverless reports as text: money, rates, names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from nona.report.means import mean_text
from nona.report.text import or_dash, share_text
from nona.results.estimate import Estimate
from nona.results.serverless.outcome import Outcome

PER = 1000  # calls that a cost is given for: one costs some millionths of a dollar


def cost_text(cost: Estimate) -> str:
    """A cost per call with its interval, for :data:`PER` calls.

    >>> cost_text(Estimate(mean=0.0002, ci95=(0.00019, 0.00021))), cost_text(Estimate(mean=None, ci95=None))
    ('$0.2 ± $0.01', '–')
    """
    return mean_text(cost, dollars)


def dollars(usd: float | None) -> str:
    """The cost of :data:`PER` calls.

    >>> dollars(0.000123), dollars(0.00000000242), dollars(None)
    ('$0.123', '$0.00000242', '–')
    """
    return or_dash(usd, lambda known: f"${_digits(PER * known)}")


def _digits(value: float) -> str:
    """Three significant digits, without a power of ten.

    >>> _digits(2.42e-06), _digits(0.5), _digits(1234.5)
    ('0.00000242', '0.5', '1230')
    """
    return f"{Decimal(f'{value:.3g}'):f}"


def rate_text(rate: Estimate | None) -> str:
    """A share in per cent with its interval, or a dash.

    >>> rate_text(Estimate(mean=0.5, ci95=(0.4, 0.6))), rate_text(None)
    ('50.0 % ± 10.0 %', '–')
    """
    return "–" if rate is None else mean_text(rate, lambda share: share_text(share, 1))


def hit_rate(outcome: Outcome) -> Estimate:
    """The share of SLOs kept."""
    return outcome.slo_hit_rate


def call_cost(outcome: Outcome) -> Estimate:
    """US dollars a call."""
    return outcome.cost_per_call_usd


def hit_cost(outcome: Outcome) -> Estimate:
    """US dollars a call that keeps its SLO."""
    return outcome.cost_per_hit_usd


def ranked(
    outcomes: Mapping[str, Outcome], value: Callable[[Outcome], Estimate], highest: bool = False
) -> dict[str, float]:
    """Name → mean of ``value``, the best first; those without a mean are left out."""
    known = {n: mean for n, o in outcomes.items() if (mean := value(o).mean) is not None}
    return dict(sorted(known.items(), key=lambda row: (-row[1] if highest else row[1], row[0])))


def overloaded(outcomes: Mapping[str, Outcome]) -> list[str]:
    """Names of the policies with a growing backlog."""
    return [n for n, o in outcomes.items() if o.state == "overloaded"]


def joined(parts: Sequence[str]) -> str:
    """Sentences joined to one paragraph, empty ones left out.

    >>> joined(["One.", "", "Two."])
    'One. Two.'
    """
    return " ".join(p for p in parts if p)
