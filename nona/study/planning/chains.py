"""Chains: the counts of one offer, with the others fixed, under one scheduler and link.

Along a chain only the count of one offer grows, so its options can be halved to the least that keeps. A pure
chain has one offer. A mixed chain has a fixed number of servers of a slower offer beside those of a faster
one: more of the faster are taken to do no harm, which more of the slower might.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nona.planning.offers import Option
from nona.study.planning.bounds import Bounds
from nona.study.planning.prediction import Prediction, with_count

CLOSE = 1e-9  # relative: prices this close are equal


@dataclass(frozen=True, slots=True)
class Chain:
    """Options with 1 … ``most`` servers of ``offer`` beside ``base``; ``low`` and fewer are ruled out.

    ``guess`` is the least count that is predicted to keep, ``cost`` what that costs per hour.
    """

    base: Option
    offer: int
    low: int
    most: int
    guess: int
    cost: float

    def option(self, count: int) -> Option:
        """The option with ``count`` servers of the chain's offer."""
        return with_count(self.base, self.offer, count)

    @property
    def mixed(self) -> bool:
        """Whether there are servers of another offer."""
        return bool(self.base.used)


class Chains:
    """The chains of a question."""

    def __init__(self, bounds: Bounds, prediction: Prediction) -> None:
        self.bounds, self.prediction, self.question = bounds, prediction, bounds.question

    def pure(self) -> list[Chain]:
        """One chain for each offer, scheduler and link, the cheapest by prediction first."""
        question = self.question
        nothing = (0,) * len(question.offers)
        made = [
            self.chain(Option(nothing, s, link), k)
            for k in range(len(question.offers))
            for s in range(len(question.schedulers))
            for link in range(len(question.links))
        ]
        return sorted(made, key=lambda c: (c.cost, c.base, c.offer))

    def mixed(self, most_cost: float) -> Iterator[Chain]:
        """Chains of two offers that have options below ``most_cost`` which no bound rules out.

        The one with the highest predicted margin at that cost comes first.
        """
        found = [
            (-self.prediction.margin(chain.option(top)), chain.cost, chain.base, chain)
            for chain in self._pairs(most_cost)
            if (top := self.below(chain, most_cost)) > chain.low
        ]
        yield from (chain for *_, chain in sorted(found, key=lambda f: f[:3]))

    def _pairs(self, most_cost: float) -> Iterator[Chain]:
        question = self.question
        speed = self._speeds()
        ranked = sorted(range(len(question.offers)), key=lambda k: (-speed[k], k))
        for i, fast in enumerate(ranked):
            for slow in ranked[i + 1 :]:
                for s in range(len(question.schedulers)):
                    for link in range(len(question.links)):
                        none = Option((0,) * len(question.offers), s, link)
                        for count in _steps(question.offers[slow].most, most_cost):
                            base = with_count(none, slow, count)
                            if question.cost(base) + question.offers[fast].price >= most_cost:
                                break
                            yield self.chain(base, fast)

    def chain(self, base: Option, offer: int) -> Chain:
        """The chain of ``offer`` beside ``base``, with its bound and its guess."""
        most = self.question.offers[offer].most
        low = self._ruled_out(base, offer, most)
        guess = most if low >= most else self.prediction.least(base, offer, low + 1, most)
        return Chain(base, offer, low, most, guess, self.question.cost(with_count(base, offer, guess)))

    def below(self, chain: Chain, cost: float) -> int:
        """The largest count of a chain that is cheaper than ``cost``; 0 where there is none."""
        if not math.isfinite(cost):
            return chain.most
        price = self.question.offers[chain.offer].price
        rest = cost - self.question.cost(chain.base)
        if price <= 0:
            return chain.most if rest > 0 else 0
        count = min(chain.most, max(0, math.ceil(rest / price * (1 - CLOSE)) - 1))
        while count and self.question.cost(chain.option(count)) >= cost * (1 - CLOSE):
            count -= 1
        return count

    def _ruled_out(self, base: Option, offer: int, most: int) -> int:
        """The largest count that bounds rule out; they hold for all smaller ones too."""
        if self.bounds.excluded(with_count(base, offer, 1)) is None:
            return 0
        low, high = 1, most + 1
        while high - low > 1:
            middle = (low + high) // 2
            if self.bounds.excluded(with_count(base, offer, middle)) is None:
                high = middle
            else:
                low = middle
        return low

    def _speeds(self) -> list[float]:
        """Jobs per second of the mix on the quickest executor of each offer."""
        bounds = self.bounds
        seconds = bounds.rates @ bounds.work / bounds.rates.sum()
        return [float((1 / seconds)[bounds.executors[k] > 0].max()) for k in range(len(self.question.offers))]


def _steps(most: int, most_cost: float) -> Sequence[int]:
    """Counts of the offer that stays: all, or while nothing is known to keep, halves of the largest.

    >>> list(_steps(4, 9.0)), list(_steps(20, math.inf))
    ([1, 2, 3, 4], [1, 2, 5, 10, 20])
    """
    if math.isfinite(most_cost):
        return range(1, most + 1)
    return sorted({max(1, most >> shift) for shift in range(most.bit_length())})
