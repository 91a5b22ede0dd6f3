"""How a scheduler, a policy or a way of sharing looks: the same on every chart, declared beside it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Look:
    """``colour`` as ``#rrggbb``; ``dash`` and ``symbol`` as plotly names them."""

    colour: str
    dash: str
    symbol: str
