"""A file of weights: what was trained, how, and on which range of systems."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from nona.core.arrays import Floats
from nona.core.errors import SimulationError
from nona.queries.schedulers.learned.network import BLIND_PAIR, LINK_PAIR, mean_work_s, size
from nona.queries.system import System


@dataclass(frozen=True, slots=True)
class Ranges:
    """From and to of each number.

    ``load`` is the share of the executors' time that queries take, ``background`` and ``link`` that of the
    executors and of the link by others; ``crossing`` the share of the link that the queries would take if
    every tensor crossed it; ``speed`` how much slower the slowest class of executors is than the fastest.
    """

    servers: tuple[int, int] = (2, 96)
    executors_per_server: tuple[int, int] = (1, 2)
    load: tuple[float, float] = (0.1, 0.85)
    background: tuple[float, float] = (0.0, 0.4)
    link: tuple[float, float] = (0.0, 0.8)
    crossing: tuple[float, float] = (0.01, 5.0)
    tasks: tuple[int, int] = (1, 24)
    speed: tuple[float, float] = (1.0, 4.0)
    queries: tuple[int, int] = (1, 5)


WORDS = {
    "servers": "servers",
    "executors_per_server": "executors per server",
    "load": "load",
    "background": "background of the executors",
    "link": "background of the link",
    "crossing": "load of the link if every tensor crossed it",
    "tasks": "tasks per query",
    "speed": "times between the slowest and the fastest executor",
    "queries": "query classes",
}


def numbers_of(system: System) -> Ranges:
    """Return the least and the greatest of each number in a system."""
    each = np.bincount(system.executor_server)
    times = np.array([q.tasks.compute_s.sum(axis=1) for q in system.queries])
    tasks = [len(q.tasks) for q in system.queries]
    compute, network = system.background_compute, system.background_network
    crossing = sum(q.rate * float(q.tasks.tensor_bytes.sum()) for q in system.queries) / system.capacity
    load = system.total_rate * mean_work_s(system) / system.executors
    busy, link = compute.rate * compute.mean, network.load(system.capacity)
    return Ranges(
        servers=(system.servers, system.servers),
        executors_per_server=(int(each.min()), int(each.max())),
        load=(load, load),
        background=(busy, busy),
        link=(link, link),
        crossing=(crossing, crossing),
        tasks=(min(tasks), max(tasks)),
        speed=(1.0, float((times.max(axis=1) / times.min(axis=1)).max())),
        queries=(len(system.queries), len(system.queries)),
    )


def out_of_range(ranges: Ranges, system: System) -> tuple[str, ...]:
    """List properties of the system outside the ranges (by over 1 %), as ``80 servers (2 to 16)``."""
    numbers = numbers_of(system)
    return tuple(
        f"{_text(name, value)} {words} ({_text(name, least)} to {_text(name, most)})"
        for name, words in WORDS.items()
        for least, most in (getattr(ranges, name),)
        for value in dict.fromkeys(getattr(numbers, name))
        if abs(value - (least + most) / 2) > 0.51 * (most - least)
    )


SHARES = ("load", "background", "link", "crossing")


def _text(name: str, value: float) -> str:
    return f"{100 * value:.3g} %" if name in SHARES else f"{value:.3g}"


FORMAT = 1
MOST_BYTES = 50_000


@dataclass(frozen=True, slots=True)
class TrainingCard:
    """The training of a policy.

    ``curve`` are means of equal parts of the training: the mean JCT of a part's runs over the mean work of a
    query. ``version`` is that of the program that trained it.
    """

    version: str
    sees_link: bool
    seed: int
    iterations: int
    rollouts: int
    jobs: int
    curve: tuple[float, ...]
    ranges: Ranges = field(default_factory=Ranges)

    @property
    def pair(self) -> int:
        """Features of a task on an executor."""
        return LINK_PAIR if self.sees_link else BLIND_PAIR


@dataclass(frozen=True, eq=False)
class TrainedPolicy:
    """A policy: its card, and its weights as one vector."""

    card: TrainingCard
    weights: Floats

    def to_text(self) -> str:
        """Return the file. Numbers are written so that they are read back to the last bit."""
        document = {"format": FORMAT, "card": asdict(self.card), "weights": self.weights.tolist()}
        return json.dumps(document, indent=None, allow_nan=False) + "\n"


def from_text(text: str, name: str) -> TrainedPolicy:
    """Read a file that :meth:`TrainedPolicy.to_text` has made; ``name`` is for messages."""
    try:
        document: Any = json.loads(text) if len(text) <= MOST_BYTES else None
        card = _read_card(document["card"])
        weights = np.array([float(x) for x in document["weights"]])
        good = document["format"] == FORMAT and len(weights) == size(card.pair) and np.isfinite(weights).all()
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        good = False
    if not good:
        raise SimulationError(
            f"Weights {name!r}: not a file of weights of this program; make one with nona train-decima."
        )
    return TrainedPolicy(card, weights)


def _read_card(given: Mapping[str, Any]) -> TrainingCard:
    ranges = Ranges(**{f.name: _bounds(given["ranges"][f.name]) for f in fields(Ranges)})
    whole = {name: int(given[name]) for name in ("seed", "iterations", "rollouts", "jobs")}
    curve = tuple(float(x) for x in given["curve"])
    return TrainingCard(
        str(given["version"])[:40], given["sees_link"] is True, **whole, curve=curve, ranges=ranges
    )


def _bounds(given: Sequence[float]) -> Any:
    least, most = given
    if not (math.isfinite(least) and math.isfinite(most)):
        raise ValueError
    return least, most


@cache
def shipped(name: str) -> TrainedPolicy:
    """Return the weights that come with the program, e.g. ``decima-link``."""
    file = files("nona.queries.schedulers.learned") / "weights" / f"{name}.json"
    return from_text(file.read_text(encoding="utf-8"), name)


def read_weights(path: Path) -> TrainedPolicy:
    """Return the weights in a file."""
    try:
        with path.open(encoding="utf-8") as file:
            return from_text(file.read(MOST_BYTES + 1), path.name)
    except (OSError, UnicodeDecodeError) as error:
        raise SimulationError(
            f"Weights {path.name!r}: cannot be read ({error}); choose another file."
        ) from None
