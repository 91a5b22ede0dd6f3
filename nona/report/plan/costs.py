"""What options cost, part by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nona.planning.offers import gpu_text
from nona.report.plan.words import servers_text
from nona.results.plan import PlanCost, PlanOption, PlanReport

OTHERS = 4  # options that keep, beside the answer


@dataclass(frozen=True, slots=True)
class Bill:
    """An option by name, with the parts of its cost per hour."""

    name: str
    costs: tuple[PlanCost, ...]


def bills(report: PlanReport, pinned: Sequence[int] = ()) -> list[Bill]:
    """The answer, the next options that keep, and pinned ones, the cheapest first."""
    keeping = [i for i, o in enumerate(report.options) if o.verdict == "keeps"]
    chosen = sorted({*keeping[: OTHERS + 1], *pinned})
    several = len({o.link for o in report.options}) > 1
    return [Bill(_name(o, several), parts_of(report, o)) for o in (report.options[i] for i in chosen)]


def _name(option: PlanOption, links: bool) -> str:
    """What is bought and what runs on it; with the link where there are several."""
    link = f", {option.link * 8e-9:.4g} Gbit/s" if links else ""
    return f"{servers_text(option.servers)}, {option.scheduler}{link}"


def parts_of(report: PlanReport, option: PlanOption) -> tuple[PlanCost, ...]:
    """The cost of an option per hour: servers of each kind, the link, and data moved where that is known.

    The price of data is what the cost of a million queries holds beyond that of servers and link.
    """
    servers = [PlanCost(part=gpu_text(s.gpu, s.mig), per_hour=s.count * s.price) for s in option.servers]
    link = option.cost_per_hour - sum(c.per_hour for c in servers)
    data = 0.0
    answer = report.answer
    if answer is not None and answer.cost_per_million and option.cost_per_million is not None:
        millions = sum(c.per_hour for c in answer.costs) / answer.cost_per_million
        data = option.cost_per_million * millions - option.cost_per_hour
    both = (PlanCost(part="link", per_hour=link), PlanCost(part="data moved", per_hour=data))
    least = 1e-9 * max(option.cost_per_hour, 1e-9)
    return tuple(c for c in (*servers, *both) if c.per_hour > least)
