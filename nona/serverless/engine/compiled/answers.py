"""What the compiled loop asks for while it runs: the planner's answers, invokers that a planner places on or
whose decisions a story lists, and progress."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from nona.errors import SimulationError
from nona.gpu_sharing.counter import shortage
from nona.serverless.dispatch.order import candidates
from nona.serverless.engine.compiled.layout import NOWHERE, RULES, SMALLEST_ROW, STOP, WAITS, State
from nona.serverless.engine.tables import Tables
from nona.serverless.policies.base import Ask, Plan, Planner
from nona.serverless.records.run import DispatchStory, Refusal


class View:
    """The invokers of a compiled run, as a planner that places sees them."""

    def __init__(self, state: State, tables: Tables) -> None:
        self._tables, of = tables, state.invokers
        self._vcpus, self._vgpus, self._most = of["free_vcpus"], of["free_vgpus"], of["most"]

    @property
    def free_vcpus(self) -> list[int]:
        """(N,) By invoker."""
        return list(self._vcpus.tolist())

    @property
    def free_vgpus(self) -> list[int]:
        """(N,) By invoker."""
        return list(self._vgpus.tolist())

    def fits(self, invoker: int, configuration: int) -> bool:
        """Whether the vCPUs are free, and one GPU has the vGPUs."""
        tables = self._tables
        return bool(
            self._vcpus.item(invoker) >= tables.vcpus[configuration]
            and self._most.item(invoker) >= tables.vgpus[configuration]
        )

    ready = fits  # nothing is ever set up

    def why(self, invoker: int, configuration: int) -> str:
        """In words, why there is no room."""
        wanted = self._tables.configurations[configuration]
        return shortage(self._vcpus.item(invoker), self._most.item(invoker), wanted)


class Answers:
    """Asks a planner for the loop, and keeps its plans as rows of the state.

    ``state`` is replaced when the loop gets more room.
    """

    def __init__(self, planner: Planner, tables: Tables, state: State) -> None:
        self._planner, self._tables = planner, tables
        self._view = View(state, tables)
        self._plans: list[Plan] = []
        self._largest: list[int] = []  # batch of a plan that a shorter queue does not fill
        self._length = state.queues["length"]
        self._partial = tables.system.dispatch.partial
        self._wanted = int(state.clock["stories_left"][0])
        self._known: dict[int, int] = {}  # by the identity of a plan that is kept
        self._equal: dict[Plan, int] = {}
        self._carried: list[tuple[int, ...]] = []
        self._numbers: dict[tuple[int, ...], int] = {}
        self._asks: list[Ask | None] = [None] * tables.queues
        self.stories: list[DispatchStory] = []
        self.state = state
        self._row(Plan((tables.system.space.smallest,)))

    def answer(
        self,
        queue: int,
        length: int,
        carried: int,
        forced: int,
        slack_s: float,
        waited_s: float,
        rate: float,
    ) -> int:
        """The row of the plan for a queue, or that it waits."""
        plan_before = self._carried[carried] if carried >= 0 else None
        tables = self._tables
        ask = Ask(
            tables.application[queue], tables.stage[queue], length, slack_s, waited_s, plan_before, rate
        )
        self._asks[queue] = ask
        if forced:
            return SMALLEST_ROW
        plan = self._planner.plan(ask)
        if plan.ranked:
            row = self._known.get(id(plan))
            return self._row(plan) if row is None else row
        clock = self.state.clock
        now_s = float(clock["now_s"][0])
        clock["wait_s"], clock["wait_for"] = plan.wait_s, plan.wait_for
        clock["over_s"] = max(now_s + plan.wait_s, math.nextafter(now_s, math.inf))  # time must pass
        return WAITS

    def _row(self, plan: Plan) -> int:
        found = self._equal.get(plan)
        if found is not None:
            return found
        s, number = self.state, len(self._plans)
        first = int(s.rows["first"][number - 1] + s.rows["count"][number - 1]) if number else 0
        after = first + len(plan.ranked)
        s.ranked[first:after] = plan.ranked
        carry = -1 if plan.carry is None else self._number(plan.carry)
        s.rows[number] = (first, len(plan.ranked), plan.steps, carry, plan.missed, plan.search_s)
        self._plans.append(plan)
        self._largest.append(0 if self._partial else max(self._tables.batch[c] for c in plan.ranked))
        self._known[id(plan)] = self._equal[plan] = number
        if number + 2 > len(s.rows) or after + len(self._tables.configurations) > len(s.ranked):
            s.clock["grow"] = 1
        return number

    def _number(self, carried: tuple[int, ...]) -> int:
        found = self._numbers.get(carried)
        if found is None:
            found = self._numbers[carried] = len(self._carried)
            self._carried.append(carried)
        return found

    def search(self, queue: int, row: int, predecessor: int) -> int:
        """Configuration · invokers + invoker for a decision, or that there is no room."""
        s, plan, tables = self.state, self._plans[row], self._tables
        ranked, length = plan.ranked, self._length.item(queue)
        if self._largest[row] > length:
            ranked = tuple([c for c in ranked if tables.batch[c] <= length])
        refusals: list[Refusal] = []
        if self._planner.place is not None:
            found = self._placed(queue, ranked)
        else:
            found = self._first_candidate(queue, ranked, predecessor, refusals)
        if found is None:
            return NOWHERE
        configuration, invoker, rule = found
        if len(self.stories) < self._wanted:
            self._tell(plan, refusals, rule)
        return configuration * len(s.invokers) + invoker

    def _tell(self, plan: Plan, refusals: list[Refusal], rule: str) -> None:
        c = self.state.clock[0]
        if c["start_s"] <= c["now_s"] <= c["end_s"]:
            self.state.clock["stories_left"] -= 1
            self.stories.append(DispatchStory(int(c["batches"]), plan.ranked, tuple(refusals), rule))

    def _placed(self, queue: int, ranked: tuple[int, ...]) -> tuple[int, int, str] | None:
        place, ask = self._planner.place, self._asks[queue]
        chosen = place(ask, ranked, self._view) if place and ask and ranked else None
        if chosen is None:
            return None
        configuration, invoker = ranked[chosen[0]], chosen[1]
        if not self._view.fits(invoker, configuration):
            raise SimulationError(
                f"Policy: it placed {self._tables.configurations[configuration].text} on invoker "
                f"{invoker}, which has no room; its place must check the view's fits."
            )
        return configuration, invoker, "policy"

    def _first_candidate(
        self, queue: int, ranked: Sequence[int], predecessor: int, refusals: list[Refusal]
    ) -> tuple[int, int, str] | None:
        """As the loop finds it, with every refusal."""
        s, view = self.state, self._view
        own = s.queues[queue]
        rules = [RULES[r] for r in s.rules[own["rule"] : own["rule"] + own["rules"]]]
        route = s.routes[own["function"]].tolist()
        kept = s.containers["idle"].reshape(-1, len(s.invokers))[own["function"]]
        warm = [i for i, idle in enumerate(kept) if idle]
        for configuration in ranked:
            asked = candidates(rules, route, predecessor, warm, view.free_vcpus, view.free_vgpus)
            for invoker, rule in asked:
                if view.fits(invoker, configuration):
                    return configuration, invoker, rule
                why = view.why(invoker, configuration)
                refusals.append(Refusal(configuration, invoker, rule, why))
        return None


Hears = Callable[[int], int]


class Guarded:
    """Calls functions for the loop: what one raises is kept in ``error``, and stops the loop."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def __call__(self, function: Callable[..., int]) -> Callable[..., int]:
        """The function, which answers ``STOP`` in place of raising."""

        def guarded(*arguments: float) -> int:
            try:
                return function(*arguments)
            except BaseException as error:  # also that a user interrupts: machine code cannot raise it
                self.error = error
                return STOP

        return guarded
