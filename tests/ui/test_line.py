"""The waiting line: fair to its owners, in order within one, no place free while work may take it."""

from __future__ import annotations

from collections import Counter
from itertools import count

from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.ui.jobs.line import Line, wait_s

OWNERS = ("ann", "bob", "carl", "dora")
Step = tuple[str, int]
steps = st.lists(st.tuples(st.sampled_from(("put", "end", "drop")), st.integers(0, 7)), max_size=60)


class Watched:
    """A line that starts work as soon as it may, and checks the rules at every step."""

    def __init__(self, places: int, each: int = 0) -> None:
        self.line, self.each = Line[int](places, each), each or places
        self.owner: dict[int, str] = {}
        self.waiting: list[int] = []
        self.running: list[int] = []
        self.passed: dict[str, Counter[str]] = {}  # who waits with nothing running: who started meanwhile
        self.numbers = count()

    def put(self, owner: str) -> int:
        work = next(self.numbers)
        self.owner[work] = owner
        self.waiting.append(work)
        self.line.put(owner, work)
        self._start()
        return work

    def leave(self, work: int) -> None:
        for held in (self.waiting, self.running):
            if work in held:
                held.remove(work)
        self.line.leave(work)
        self._start()

    def owners(self, held: list[int]) -> set[str]:
        return {self.owner[work] for work in held}

    def _start(self) -> None:
        while True:
            waits, runs = self.owners(self.waiting), Counter(self.owner[w] for w in self.running)
            first = {o for o in waits if not runs[o]}
            self.passed = {o: self.passed.get(o, Counter()) for o in first}
            expected = self.line.order()
            assert sorted(expected) == sorted(self.waiting)
            work = self.line.start()
            if work is None:
                break
            owner = self.owner[work]
            assert work == expected[0]
            assert work == min(w for w in self.waiting if self.owner[w] == owner), "order within an owner"
            assert not (first and runs[owner]), "a second place while another waits for a first"
            self.waiting.remove(work)
            self.running.append(work)
            for other in first - {owner}:
                self.passed[other][owner] += 1
                assert self.passed[other][owner] == 1, "nobody is passed twice by the same owner"
        assert len(self.running) <= self.line.places
        able = {o for o in self.owners(self.waiting) if runs[o] < self.each}
        assert not able or not self.line.free, "a place is free though work may take it"
        assert list(self.line.running) == self.running


@examples(120)
@given(st.integers(1, 3), st.sampled_from((0, 1)), steps)
def test_the_line_is_fair_in_order_and_never_idle(places: int, each: int, told: list[Step]) -> None:
    watched = Watched(places, each)
    for what, number in told:
        if what == "put":
            watched.put(OWNERS[number % len(OWNERS)])
        elif what == "end" and watched.running:
            watched.leave(watched.running[number % len(watched.running)])
        elif what == "drop" and watched.waiting:
            watched.leave(watched.waiting[number % len(watched.waiting)])
    while watched.running:  # all that waits is served in the end
        watched.leave(watched.running[0])
    assert not watched.waiting
    assert not watched.line.waits()


@examples(40)
@given(st.integers(1, 3), st.lists(st.sampled_from(OWNERS), min_size=1, max_size=20))
def test_the_order_told_is_the_order_that_comes(places: int, owners: list[str]) -> None:
    watched = Watched(places)
    for owner in owners:
        watched.put(owner)
    told, came = watched.line.order(), []
    while watched.running:
        before = set(watched.running)
        watched.leave(watched.running[0])
        came += [w for w in watched.running if w not in before]
    assert tuple(came) == told


def test_ten_pieces_of_one_owner_delay_another_by_one_at_most() -> None:
    watched = Watched(places=1)
    for _ in range(10):
        watched.put("ann")
    other = watched.put("bob")
    assert watched.line.order()[0] == other
    watched.leave(watched.running[0])
    assert watched.running == [other]


def test_work_that_is_not_known_leaves_quietly() -> None:
    line = Line[str](1)
    line.leave("nothing")
    assert (line.waits(), line.free, line.order(), line.start()) == (0, 1, (), None)


def _simulated(running: list[float], ahead: list[float], places: int) -> float:
    """The start of what comes after ``ahead``, in steps of one second."""
    left, queue, now = list(running), [*ahead, 0.0], 0.0
    while True:
        left = [s for s in left if s > 0]
        while len(left) < places and queue:
            seconds = queue.pop(0)
            if not queue:
                return now
            if seconds > 0:
                left.append(seconds)
        left, now = [s - 1 for s in left], now + 1


@examples(60)
@given(st.integers(1, 3), st.data())
def test_the_expected_start_is_that_of_a_simulation(places: int, data: st.DataObject) -> None:
    seconds = st.integers(0, 9).map(float)
    running = data.draw(st.lists(seconds, max_size=places))
    ahead = data.draw(st.lists(seconds, max_size=6))
    assert wait_s(running, ahead, places) == _simulated(running, ahead, places)
