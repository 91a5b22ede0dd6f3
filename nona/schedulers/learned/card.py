"""A file of weights: what was trained, how, on what, and the numbers themselves."""

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
from numpy.typing import NDArray

from nona.errors import SimulationError
from nona.schedulers.learned.network import BLIND_PAIR, LINK_PAIR, size
from nona.schedulers.learned.ranges import Ranges

FORMAT = 1
MOST_BYTES = 50_000
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Card:
    """How a policy was trained.

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
class Trained:
    """A policy: its card, and its weights as one vector."""

    card: Card
    weights: Floats

    def to_text(self) -> str:
        """The file. Numbers are written so that they are read back to the last bit."""
        document = {"format": FORMAT, "card": asdict(self.card), "weights": self.weights.tolist()}
        return json.dumps(document, indent=None, allow_nan=False) + "\n"


def from_text(text: str, name: str) -> Trained:
    """Read a file that :meth:`Trained.to_text` has made; ``name`` is for messages.

    Raises
    ------
    SimulationError
        When it is no such file, in one line.
    """
    try:
        found: Any = json.loads(text) if len(text) <= MOST_BYTES else None
        card = _card(found["card"])
        weights = np.array([float(x) for x in found["weights"]])
        good = found["format"] == FORMAT and len(weights) == size(card.pair) and np.isfinite(weights).all()
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        good = False
    if not good:
        raise SimulationError(
            f"Weights {name!r}: not a file of weights of this program; make one with nona train-decima."
        )
    return Trained(card, weights)


def _card(given: Mapping[str, Any]) -> Card:
    ranges = Ranges(**{f.name: _bounds(given["ranges"][f.name]) for f in fields(Ranges)})
    whole = {name: int(given[name]) for name in ("seed", "iterations", "rollouts", "jobs")}
    curve = tuple(float(x) for x in given["curve"])
    return Card(str(given["version"])[:40], given["sees_link"] is True, **whole, curve=curve, ranges=ranges)


def _bounds(given: Sequence[float]) -> Any:
    least, most = given
    if not (math.isfinite(least) and math.isfinite(most)):
        raise ValueError
    return least, most


@cache
def shipped(name: str) -> Trained:
    """The weights that come with the program, e.g. ``decima-link``."""
    file = files("nona.schedulers.learned") / "weights" / f"{name}.json"
    return from_text(file.read_text(encoding="utf-8"), name)


def read_weights(path: Path) -> Trained:
    """The weights in a file.

    Raises
    ------
    SimulationError
        For a file that cannot be read or has no weights.
    """
    try:
        with path.open(encoding="utf-8") as file:
            return from_text(file.read(MOST_BYTES + 1), path.name)
    except (OSError, UnicodeDecodeError) as error:
        raise SimulationError(
            f"Weights {path.name!r}: cannot be read ({error}); choose another file."
        ) from None
