"""What the browser gets of a running training cluster."""

from __future__ import annotations

from nona.results.document import Document


class PolicyRow(Document):
    """A policy so far: its mean JCT as text and as a curve within 0 … 1, jobs by state."""

    name: str
    colour: str
    mean: str
    running: int
    waiting: int
    completed: int
    started: bool
    curve: tuple[tuple[float, float], ...]


class Lane(Document):
    """A GPU: its name, and its bars as (start, end, colour, what it is), both ends within 0 … 1."""

    name: str
    bars: tuple[tuple[float, float, str, str], ...]


class ClusterDrawing(Document):
    """The whole picture; ``told``, ``now``, ``span``, ``more`` and ``alts`` are texts."""

    fraction: float
    told: str
    policies: tuple[PolicyRow, ...]
    lanes: tuple[Lane, ...]
    now: str
    span: tuple[str, str]
    more: str
    alts: tuple[str, str]
