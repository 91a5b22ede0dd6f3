"""Words of a plan: servers, money, headroom, months."""

from __future__ import annotations

import math
from calendar import month_name
from collections.abc import Sequence
from datetime import date

from nona.planning.offers import gpu_text
from nona.report.text import or_dash
from nona.results.plan import PlanServers


def servers_text(servers: Sequence[PlanServers]) -> str:
    """Servers in words.

    >>> servers_text([PlanServers(count=2, gpu="l4", mig=None), PlanServers(count=1, gpu="t4", mig=None)])
    '2 × l4 + 1 × t4'
    """
    return " + ".join(f"{s.count:,} × {gpu_text(s.gpu, s.mig)}" for s in servers)


def money(amount: float | None, currency: str) -> str:
    """An amount with its currency, which is a label only.

    >>> money(14.2, "USD"), money(None, "EUR"), money(222_222.2, "USD")
    ('14.2 USD', '–', '222,222 USD')
    """
    return or_dash(amount, lambda value: f"{amount_text(value)} {currency}")


def amount_text(amount: float) -> str:
    """An amount to four digits, or to whole ones where it is large."""
    return f"{amount:,.0f}" if amount >= 1000 else f"{amount:,.4g}"


def headroom_text(headroom: float) -> str:
    """A headroom, rounded down: no more than was seen to keep.

    >>> headroom_text(1.0169), headroom_text(1.31)
    ('1.01×', '1.31×')
    """
    return f"{math.floor(100 * headroom + 1e-9) / 100:g}×"


def day_of(made: str) -> date | None:
    """The day on which a plan was made, from which its months count; ``None`` where the text has none.

    >>> day_of("2026-11-24 09:30 UTC"), day_of("once")
    (datetime.date(2026, 11, 24), None)
    """
    try:
        return date.fromisoformat(made[:10])
    except ValueError:
        return None


def month_text(months: int, today: date | None) -> str:
    """A month that many months from now, by name where today's date is known.

    >>> month_text(4, None), month_text(4, date(2026, 11, 24))
    ('month 4', 'March 2027')
    """
    if today is None:
        return f"month {months}"
    count = today.year * 12 + today.month - 1 + months
    return f"{month_name[count % 12 + 1]} {count // 12}"
