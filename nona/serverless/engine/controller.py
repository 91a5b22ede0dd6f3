"""The controller: which queue is examined when, the decision, its outcome.

A queue is *pending* while it is to be looked at. It is on the *recheck list* when nothing that was decided
for it had room; then whatever frees resources makes it pending.
"""

from __future__ import annotations

import math
from heapq import heappush

from nona.errors import SimulationError
from nona.serverless.engine.events import DECISION, WAIT_OVER, Decision, Running
from nona.serverless.engine.execution import Execution, Parts
from nona.serverless.engine.invokers import Choice, Found
from nona.serverless.policies.base import Ask, Plan, Planner
from nona.serverless.records import DispatchStory, Refusal


class Controller:
    """Serves the AFW queues by a planner's answers.

    ``_pending`` and ``_recheck`` have a bit for each queue. By queue: ``_searching`` the decision under
    way, ``_wait`` the number of its standing wait (0: none), ``_wait_for`` how many jobs end it, ``_failed``
    attempts without room since the last dispatch, ``_missed`` whether the next batch's carried plan could
    not be used.
    """

    def __init__(self, planner: Planner, parts: Parts, choice: Choice, execution: Execution) -> None:
        tables = parts.tables
        n, spec = tables.queues, tables.system.dispatch
        self._planner, self._choice, self._execution = planner, choice, execution
        self._parts = parts
        self._tables, self._book, self._queues = tables, parts.book, parts.queues
        self._invokers, self._collector, self._heap = parts.invokers, parts.collector, parts.heap
        self._limit, self._partial = spec.rechecks, spec.partial
        self._blocking, self._by_slack = spec.blocking, spec.order == "least-slack"
        self._smallest = tables.system.space.smallest
        self._pending = self._recheck = 0
        self._searching: list[tuple[Ask, Decision] | None] = [None] * n
        self._searches = 0
        self._wait, self._waits, self._wait_for = [0] * n, [0] * n, [0] * n
        self._failed, self._missed = [0] * n, [False] * n
        self._served = n - 1

    def joined(self, queue: int) -> None:
        """A job has joined a queue; one that a search is under way for will count it at the search's end."""
        if self._searching[queue] is not None:
            return
        if not self._wait[queue]:
            self._pending |= 1 << queue
        elif 0 < self._wait_for[queue] <= len(self._queues[queue]):
            self._wait[queue] = 0
            self._pending |= 1 << queue

    def released(self) -> None:
        """Resources have become free."""
        self._pending |= self._recheck

    def ended(self, batch: Running, now_s: float) -> None:
        """A batch has ended."""
        self.released()

    def happen(self, kind: int, queue: int, number: int, now_s: float) -> None:
        """A search has ended, or a wait has run out; it may have ended before."""
        if kind == DECISION:
            self._decided(queue, now_s)
        elif self._wait[queue] == number:
            self._wait[queue] = 0
            self._pending |= 1 << queue

    def serve(self, now_s: float) -> None:
        """Look at all pending queues, in the order of ``dispatch``."""
        while self._pending and not (self._blocking and self._searches):
            queue = self._least_slack(now_s) if self._by_slack else self._in_turn()
            self._pending &= ~(1 << queue)
            if self._queues[queue].calls and self._searching[queue] is None:
                self._served = queue
                self._examine(queue, now_s)

    def _in_turn(self) -> int:
        """The first pending queue after the one served last, else the first of all: by the lowest bit."""
        after = self._served + 1
        ready = self._pending >> after << after or self._pending
        return (ready & -ready).bit_length() - 1

    def _least_slack(self, now_s: float) -> int:
        pending = [q for q in range(self._tables.queues) if self._pending >> q & 1]
        filled = [q for q in pending if self._queues[q].calls]
        return min(filled, key=lambda q: (self._parts.slack_s(q, now_s), q)) if filled else pending[0]

    def _ask(self, queue: int, now_s: float) -> Ask:
        waiting, tables = self._queues[queue], self._tables
        return Ask(
            tables.application[queue],
            tables.stage[queue],
            len(waiting.calls),
            self._parts.slack_s(queue, now_s),
            now_s - waiting.joined_s[0],
            self._book.carried[waiting.calls[0]],
            waiting.rate(now_s),
        )

    def _drop_late(self, queue: int, now_s: float) -> None:
        for other in self._parts.drop_late(queue, now_s):
            self._failed[other], self._missed[other], self._wait[other] = 0, False, 0

    def _examine(self, queue: int, now_s: float) -> None:
        if self._tables.drops:
            self._drop_late(queue, now_s)
            if not self._queues[queue].calls:
                return
        ask = self._ask(queue, now_s)
        forced = self._failed[queue] >= self._limit
        plan = Plan((self._smallest,)) if forced else self._planner.plan(ask)
        self._recheck &= ~(1 << queue)
        self._wait[queue] = 0
        if not plan.ranked:
            self._stand(queue, plan, now_s)
            return
        decision = Decision(plan, now_s, forced)
        if plan.search_s > 0:
            self._searching[queue] = ask, decision
            self._searches += 1
            place = ask.application, ask.stage
            heappush(self._heap, (now_s + plan.search_s, DECISION, *place, 0, 0))
        else:
            self._resolve(queue, ask, decision, now_s)

    def _stand(self, queue: int, plan: Plan, now_s: float) -> None:
        """Wait as the plan says; without a time or a number of jobs, for the next job."""
        if plan.wait_s <= 0 and plan.wait_for <= len(self._queues[queue]):
            return
        self._waits[queue] += 1
        self._wait[queue], self._wait_for[queue] = self._waits[queue], plan.wait_for
        if plan.wait_s > 0:
            place = self._tables.application[queue], self._tables.stage[queue]
            over_s = max(now_s + plan.wait_s, math.nextafter(now_s, math.inf))  # time must pass
            heappush(self._heap, (over_s, WAIT_OVER, *place, self._waits[queue], 0))

    def _decided(self, queue: int, now_s: float) -> None:
        """A search has ended."""
        under_way = self._searching[queue]
        if under_way is None:
            raise SimulationError(f"Queue {queue}: a search ended that had not begun; report this.")
        self._searching[queue] = None
        self._searches -= 1
        self._resolve(queue, *under_way, now_s)

    def _resolve(self, queue: int, ask: Ask, decision: Decision, now_s: float) -> None:
        if not self._queues[queue].calls:
            return  # all that waited for the search were dropped
        refusals: list[Refusal] | None = [] if self._collector.wants_story(now_s) else None
        ranked = decision.ranked
        if not self._partial:
            most, batch = len(self._queues[queue].calls), self._tables.batch
            ranked = tuple([c for c in ranked if batch[c] <= most])
        chosen = self._find(queue, ask, ranked, now_s, refusals)
        if ask.carried is not None and not self._failed[queue]:
            self._missed[queue] = chosen is None or chosen[0] != decision.ranked[0]
        if decision.plan_missed:
            self._missed[queue] = True
        if chosen is None:
            self._failed[queue] += 1
            self._recheck |= 1 << queue
            self._collector.rechecks += self._collector.inside(now_s)
            return
        self._dispatch(queue, ask, decision, chosen, now_s, refusals)

    def _dispatch(
        self,
        queue: int,
        ask: Ask,
        decision: Decision,
        found: tuple[int, Found],
        now_s: float,
        refusals: list[Refusal] | None,
    ) -> None:
        configuration, (invoker, lease, rule) = found
        decision.missed = self._missed[queue]
        number = self._execution.start(queue, decision, configuration, invoker, lease, now_s)
        self._failed[queue], self._missed[queue] = 0, False
        if self._collector.inside(now_s):
            self._collector.planned += ask.carried is not None or decision.missed
            self._collector.misses += decision.missed
        if refusals is not None:
            self._collector.tell(DispatchStory(number, decision.ranked, tuple(refusals), rule))
        if len(self._queues[queue]):
            self._pending |= 1 << queue

    def _find(
        self, queue: int, ask: Ask, ranked: tuple[int, ...], now_s: float, refusals: list[Refusal] | None
    ) -> tuple[int, Found] | None:
        """Find the first configuration that some invoker takes, with its place there."""
        if self._planner.place is not None:
            return self._choice.placed(queue, self._planner.place, ask, ranked, now_s)
        predecessor = self._predecessor(queue) if ranked else -1
        for configuration in ranked:
            given = self._choice.find(queue, configuration, predecessor, now_s, refusals)
            if given is not None:
                return configuration, given
        return None

    def _predecessor(self, queue: int) -> int:
        """The invoker of the oldest job's predecessor whose batch ended last, −1 for an entry stage."""
        before = self._tables.before[queue]
        if not before:
            return -1
        base = self._queues[queue].calls[0] * self._book.width
        batch, ended_s = self._book.batch, self._collector.ended_s
        if len(before) == 1:
            return self._collector.invoker[batch[base + before[0]]]
        last = max(before, key=lambda s: (ended_s[batch[base + s]], s))
        return self._collector.invoker[batch[base + last]]
