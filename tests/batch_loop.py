"""One executor that batches, in a loop over its events: a second opinion for the theory and for both engines.

Of what happens at one instant a step's end comes first, then background, then arrivals, one by one; after
each of them an idle executor looks whether something may start.
"""

import math
from typing import NamedTuple


class Key(NamedTuple):
    """One task of one model: a step with b members takes ``step_s[b - 1]``."""

    step_s: tuple
    rule: str = "greedy"  # or delay, triton, static
    delay_s: float = 0.0
    preferred: tuple = ()
    form_ahead: int = 0


class Step(NamedTuple):
    """What the executor did; ``members`` are indices into the arrivals, or the one of the background."""

    start_s: float
    end_s: float
    key: int  # -1: background
    members: tuple


class Queue:
    """What waits for one key, and the batches that are formed and have not begun."""

    def __init__(self, key):
        self.key, self.waiting, self.formed, self.closed = key, [], [], False  # closed: the last one formed

    def wake_s(self):
        """When the oldest has waited for the delay."""
        return self.waiting[0][0] + self.key.delay_s if self.waiting else math.inf

    def form(self, now):
        """Fill the batch formed last, and form others up to the number that may be formed ahead."""
        while self.key.form_ahead:
            grows = bool(self.formed) and not self.closed
            if not grows and len(self.formed) >= self.key.form_ahead:
                return
            number, closed = self.ready(now, len(self.formed[-1]) if grows else 0)
            if number == 0:
                return
            members = [self.waiting.pop(0) for _ in range(number)]
            self.formed[-1 if grows else len(self.formed) :] = [(self.formed[-1] if grows else []) + members]
            self.closed = closed or len(self.formed[-1]) == len(self.key.step_s)

    def ready(self, now, have=0):
        """How many of those that wait may join a batch of ``have`` now, and whether it is closed then."""
        most, late = len(self.key.step_s), now >= self.wake_s()
        number = min(len(self.waiting), most - have)
        if self.key.rule == "triton":
            return self._triton(have, late)
        may = {"greedy": True, "delay": late, "static": False}[self.key.rule] or have + number == most
        return (number if may else 0), False

    def _triton(self, have, late):
        most, preferred = len(self.key.step_s), self.key.preferred or (len(self.key.step_s),)
        best = number = 0
        full = closed = False
        for _ in self.waiting:
            if have + number:
                if have + number + 1 > max(preferred) and best == 0:
                    best, closed = number, True
                full = have + number + 1 > most
                if full:
                    break
            number += 1
            best = number if have + number in preferred else best
        if best and not (self.key.delay_s > 0 and late):
            return best, closed or self.key.delay_s == 0
        if full or have + number >= max(preferred):
            return number, True
        return (number if late or self.key.delay_s == 0 else 0), closed

    def head(self, now):
        """The place of what may start now in the executor's queue; infinite if nothing may."""
        first = self.formed[0] if self.formed else self.waiting if self.ready(now)[0] else []
        return first[0][1] if first else math.inf

    def take(self, now):
        if self.formed:
            return self.formed.pop(0)
        return [self.waiting.pop(0) for _ in range(self.ready(now)[0])]


def run(arrivals, keys, background=(), draws=None):
    """Return the steps until nothing more may start; what ``static`` holds back for ever is left waiting.

    ``arrivals``: (instant, index of its key), in order of time; ``background``: (instant, seconds), likewise;
    ``draws``: an iterator of factors, one for each step of a key.
    """
    events = sorted(
        [(t, 0, i) for i, (t, _) in enumerate(background)] + [(t, 1, i) for i, (t, _) in enumerate(arrivals)]
    )
    queues, alone, steps, end_s, now = [Queue(key) for key in keys], [], [], 0.0, 0.0
    events = [(t, place, kind, i) for place, (t, kind, i) in enumerate(events)][::-1]
    while True:
        busy = end_s > now
        wakes = [
            q.wake_s() for q in queues if q.key.rule in ("delay", "triton") and (q.key.form_ahead or not busy)
        ]
        ahead = [t for t in (*wakes, end_s) if t > now]
        now = min([t for t, *_ in events[-1:]] + ahead, default=math.inf)
        if now == math.inf:
            return steps
        if events and events[-1][0] == now and not (busy and end_s == now):
            time_s, place, kind, i = events.pop()
            (queues[arrivals[i][1]].waiting if kind else alone).append((time_s, place, i))
        for q in queues:
            q.form(now)
        heads = [q.head(now) for q in queues] + [alone[0][1] if alone else math.inf]
        if end_s > now or min(heads) == math.inf:
            continue
        k = heads.index(min(heads))
        if k < len(keys):
            members = tuple(i for _, _, i in queues[k].take(now))
            end_s = now + keys[k].step_s[len(members) - 1] * (next(draws) if draws else 1.0)
        else:
            members = (alone.pop(0)[2],)
            end_s = now + background[members[0]][1]
        steps.append(Step(now, end_s, k if k < len(keys) else -1, members))
