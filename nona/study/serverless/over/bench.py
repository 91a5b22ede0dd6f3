"""Runs what several searches look at, side by side: in one batch of tasks after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from nona.options import Options
from nona.scenario.schema import Scenario
from nona.serverless.engine.run import RunOptions
from nona.serverless.policies.base import Planner
from nona.serverless.policies.registry import get_policy
from nona.sources.lookup import Sources
from nona.study.serverless.over.search import Look, Search
from nona.study.serverless.over.seen import Seen
from nona.study.serverless.over.settings import OverSettings
from nona.study.serverless.preparation import prepare_serverless
from nona.study.serverless.run import chosen_policies
from nona.study.serverless.tasks import Task, TaskPool, run_tasks
from nona.study.serverless.warmup import warmup_calls
from nona.study.sweeps.numbers import LOAD

TRAINED = frozenset({"aquatope"})  # trains on times, prices and SLOs alone: once for all loads
FEW = 2  # replications that show whether a run has a steady state, and give an interval
Tell = Callable[[float], None]


class Bench:
    """The runs so far of every policy at every value. Results do not depend on ``pool``."""

    def __init__(self, scenario: Scenario, settings: OverSettings, sources: Sources, pool: TaskPool) -> None:
        self._scenario, self._settings, self._sources = scenario, settings, sources
        self._pool = pool
        self._seen: dict[tuple[str, float], Seen] = {}
        self._options: dict[str, Options] = {
            policy.name: options for policy, options in chosen_policies(scenario, settings.policies)
        }
        self._at: dict[float, tuple[Scenario, RunOptions]] = {}
        self._trained: dict[str, Planner] = {}

    def run(self, searches: Sequence[Search], tell: Tell = lambda share: None) -> None:
        """Drive all searches to their ends; ``tell`` hears the share of a batch that is done."""
        wanted = [(search, look) for search in searches if (look := next(search, None)) is not None]
        while wanted:
            self._simulate([look for _, look in wanted], tell)
            going = []
            for search, look in wanted:
                with suppress(StopIteration):
                    going.append((search, search.send(self._seen[look.policy, look.value])))
            wanted = going

    def _simulate(self, looks: Sequence[Look], tell: Tell) -> None:
        """The missing replications of every look; the first few show which need no more."""
        for most in (FEW, max(look.replications for look in looks)):
            tasks, places = [], []
            for look in looks:
                seen = self._seen.get((look.policy, look.value), Seen())
                missing = min(look.replications, most) - seen.replications
                if missing > 0 and not seen.overloaded:
                    scenario, run = self._there(look.value)
                    run = replace(run, replication=seen.replications)
                    options = self._options[look.policy]
                    planner = self._planner(look.policy, scenario)
                    task = Task(scenario, look.policy, options, run, missing, self._sources, planner)
                    tasks.append(task)
                    places.append((look.policy, look.value))
            for at, done in zip(places, run_tasks(tasks, self._pool, tell), strict=True):
                before = self._seen.get(at, Seen())
                warmup = self._there(at[1])[1].first
                self._seen[at] = Seen((*before.parts, done), warmup)

    def _planner(self, policy: str, scenario: Scenario) -> Planner | None:
        """A planner for all loads, if the policy's training depends on none; it takes seconds."""
        if policy not in TRAINED or self._settings.number.key != LOAD:
            return None
        if policy not in self._trained:
            system = prepare_serverless(scenario, self._sources)
            self._trained[policy] = get_policy(policy).prepare(system, self._options[policy])
        return self._trained[policy]

    def _there(self, value: float) -> tuple[Scenario, RunOptions]:
        """The scenario at a value, and how long its runs are."""
        if value not in self._at:
            scenario = self._settings.number.set(self._scenario, value)
            system = prepare_serverless(scenario, self._sources)
            calls = self._settings.calls
            run = RunOptions(
                calls=calls, warmup=warmup_calls(scenario, system, calls, [*self._options.items()])
            )
            self._at[value] = (scenario, run)
        return self._at[value]
