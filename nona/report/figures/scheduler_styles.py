"""The style of each scheduler on all charts: colour, dash and marker, from its declaration.

Hue alone does not part so many lines for everyone, so each scheduler has a marker of its own, and those
of like hue differ in their dash. Dotted lines are kept for overloaded runs, the marker ``x`` for the
point where a scheduler becomes unstable. Colours are middle tones: at least 3 : 1 against white and
against the dark theme's background. Policies of serverless workflows and of training clusters, and ways of
sharing a GPU, are on charts of their own, so they may look like a scheduler.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from nona.allocation.policies.registry import POLICIES as TRAINING_POLICIES
from nona.gpu_sharing.registry import WAYS
from nona.gpu_sharing.way import Way
from nona.look import Look
from nona.schedulers.registry import SCHEDULERS
from nona.serverless.policies.registry import POLICIES

OVERLOADED_DASH = "dot"
UNSTABLE_SYMBOL = "x"
_OTHERS = tuple(
    Look(colour, dash, symbol)
    for dash in ("longdashdot", "dashdot")
    for colour, symbol in (
        ("#8390a6", "bowtie"),
        ("#0e94a8", "hourglass"),
        ("#b3873a", "star-diamond"),
        ("#b45fd0", "hexagram"),
    )
)


def scheduler_style(name: str) -> Look:
    """The style of a scheduler or policy by name, or of a way of sharing by its title.

    One that declares none, or is not known, gets a spare look, always the same.

    >>> scheduler_style("local").colour
    '#0f9b8e'
    >>> scheduler_style("mine") == scheduler_style("mine")
    True
    """
    found = (
        SCHEDULERS.get(name) or POLICIES.get(name) or TRAINING_POLICIES.get(name) or next(_titled(name), None)
    )
    return found.look if found and found.look else _OTHERS[zlib.crc32(name.encode()) % len(_OTHERS)]


def _titled(title: str) -> Iterator[Way]:
    return (way for way in WAYS.values() if way.title == title)
