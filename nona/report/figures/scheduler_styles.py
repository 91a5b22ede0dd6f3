"""How each scheduler looks, on every chart alike: colour, dash and marker.

Hue alone does not part thirteen lines for everyone, so each scheduler has a marker of its own, and those
of like hue differ in their dash. Dotted lines are kept for overloaded runs, the marker ``x`` for the
point where a scheduler becomes unstable.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

OVERLOADED_DASH = "dot"
UNSTABLE_SYMBOL = "x"


@dataclass(frozen=True, slots=True)
class Style:
    """``colour`` as ``#rrggbb``; ``dash`` and ``symbol`` as plotly names them."""

    colour: str
    dash: str
    symbol: str


# Middle tones: at least 3 : 1 against white and against the dark theme's background.
STYLES: Mapping[str, Style] = MappingProxyType(
    {
        "nona": Style("#6366f1", "solid", "circle"),
        "nona-d2": Style("#a06cf5", "dash", "circle-open"),
        "nona-live": Style("#8b3fd9", "longdash", "circle-cross"),
        "local": Style("#0f9b8e", "solid", "square"),
        "spread": Style("#cf7a10", "solid", "diamond"),
        "random": Style("#8390a6", "dash", "hexagon"),
        "opportunistic": Style("#e0559a", "longdash", "triangle-up"),
        "spark-fair": Style("#2b8fd6", "solid", "triangle-down"),
        "spark-fifo": Style("#2b8fd6", "dash", "triangle-left"),
        "priority": Style("#7a9a1e", "solid", "pentagon"),
        "jsq-d": Style("#9c6b2f", "dashdot", "star"),
        "least-loaded": Style("#0e94a8", "longdash", "triangle-right"),
        "expert": Style("#e25555", "longdashdot", "cross"),
    }
)
# Configuration policies of serverless workflows: never on one chart with the schedulers.
POLICY_STYLES: Mapping[str, Style] = MappingProxyType(
    {
        "esg": Style("#6366f1", "solid", "circle"),
        "infless": Style("#cf7a10", "solid", "diamond"),
        "fast-gshare": Style("#0f9b8e", "solid", "square"),
        "orion": Style("#2b8fd6", "solid", "triangle-down"),
        "aquatope": Style("#e0559a", "longdash", "triangle-up"),
        "fixed": Style("#8390a6", "dash", "hexagon"),
    }
)
# Ways of sharing a GPU, as people read them; each on charts of its own.
SHARING_STYLES: Mapping[str, Style] = MappingProxyType(
    {
        "MIG, counted": Style("#6366f1", "solid", "circle"),
        "MIG, placed": Style("#0f9b8e", "solid", "square"),
        "MIG, fixed": Style("#2b8fd6", "dash", "square-open"),
        "MPS": Style("#cf7a10", "solid", "diamond"),
        "time slicing": Style("#e0559a", "longdash", "triangle-up"),
    }
)
_OTHERS = tuple(
    Style(colour, dash, symbol)
    for dash in ("longdashdot", "dashdot")
    for colour, symbol in (
        ("#8390a6", "bowtie"),
        ("#0e94a8", "hourglass"),
        ("#b3873a", "star-diamond"),
        ("#b45fd0", "hexagram"),
    )
)


def scheduler_style(name: str) -> Style:
    """The look of the scheduler or policy ``name``; one from outside gets a spare look, always the same.

    >>> scheduler_style("local").colour
    '#0f9b8e'
    >>> scheduler_style("mine") == scheduler_style("mine")
    True
    """
    for styles in (STYLES, POLICY_STYLES, SHARING_STYLES):
        if name in styles:
            return styles[name]
    return _OTHERS[zlib.crc32(name.encode()) % len(_OTHERS)]
