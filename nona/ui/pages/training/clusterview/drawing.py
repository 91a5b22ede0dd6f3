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


class Node(Document):
    """A node: its name, and (colour, job) of each GPU; a free one has no colour."""

    name: str
    gpus: tuple[tuple[str, str], ...]


class Chart(Document):
    """A small chart of one measure: its title, its value now, and (colour, points within 0 … 1) of lines."""

    title: str
    value: str
    lines: tuple[tuple[str, tuple[tuple[float, float], ...]], ...]


class ClusterDrawing(Document):
    """The whole picture; ``told``, ``now``, ``span``, ``more`` and ``alts`` are texts.

    Without ``policies``, ``lanes``, ``nodes`` or ``charts`` there is no such panel; ``told`` is empty where
    nothing runs.
    """

    fraction: float
    told: str
    policies: tuple[PolicyRow, ...] = ()
    lanes: tuple[Lane, ...] = ()
    now: str = ""
    span: tuple[str, str] = ("", "")
    more: str = ""
    alts: tuple[str, str]
    nodes: tuple[Node, ...] = ()
    charts: tuple[Chart, ...] = ()
