"""How far many runs are together."""

from __future__ import annotations

from collections.abc import Mapping

from nona.experiments.pool import Key


class Shares:
    """Adds up the shares of runs that are done; a run that is repeated does not fall back.

    Parameters
    ----------
    weights
        Key of every run → its part of the whole work, in any unit.

    Examples
    --------
    >>> shares = Shares({(0, 0): 1.0, (1, 0): 3.0})
    >>> shares.add((1, 0), 0.5), shares.add((1, 0), 0.2), shares.add((0, 0), 1.0)
    (0.375, 0.375, 0.625)
    """

    def __init__(self, weights: Mapping[Key, float]) -> None:
        self._weights = dict(weights)
        self._done = dict.fromkeys(self._weights, 0.0)

    def add(self, key: Key, fraction: float) -> float:
        """Take in the share of a run that is done; the share of all."""
        self._done[key] = max(fraction, self._done[key])
        whole = sum(self._weights.values())
        return sum(self._weights[k] * done for k, done in self._done.items()) / whole
