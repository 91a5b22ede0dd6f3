"""``esg-wait``: ESG that waits for a fuller batch where that pays. Ours.

ESG serves a queue at once, with a batch that it fills. Here n jobs may wait for a batch of b > n. With λ
jobs a second coming to the queue lately, slack d of the oldest job, and p and c the time and the cost a job
of the path that ESG would take, a batch of b is expected after

    w = patience · (b − n) / λ

and the path is the one that ESG finds for b jobs with d − w left. Waiting for b is worth while if that path
is in time and cheaper than the path for n jobs now by more than ``gain`` of its cost; of several b the
cheapest wins, of equally cheap ones the smallest. The wait ends when b jobs are there, or after w; then all
is decided again, with what is left of the slack. As d shrinks and, while nobody comes, λ as well, waits end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from nona.options import Setting
from nona.registry import Look
from nona.serverless.policies.base import Ask, Plan, Policy
from nona.serverless.policies.esg.policy import MEMO, EsgOptions, EsgPlanner, options_of
from nona.serverless.policies.esg.policy import POLICY as ESG
from nona.serverless.policies.esg.search import GroupSearch
from nona.serverless.system import ServerlessSystem

NAME = "esg-wait"
AT_ONCE = 8  # slacks that are searched with in one call
SHORTEST_S = 1e-3  # a shorter wait would be over before the search for it


@dataclass(frozen=True, slots=True)
class WaitOptions:
    """Options of waiting, described at :data:`POLICY`."""

    patience: float
    gain: float
    reserve_s: float


class _Path(NamedTuple):
    """The cheapest path for a batch: whether it is in time, US dollars a job, paths looked at."""

    feasible: bool
    cost_usd: float
    looked: int


class _Paths(NamedTuple):
    """Paths of one stage and batch, by slack; none differs beyond ``enough_s``."""

    group: GroupSearch
    enough_s: float
    by_slack: dict[float, _Path]


class EsgWaitPlanner(EsgPlanner):
    """ESG with waits for one system."""

    def __init__(self, system: ServerlessSystem, options: EsgOptions, wait: WaitOptions) -> None:
        super().__init__(system, options)
        self._wait = wait
        self._paths: dict[tuple[int, int], dict[int, _Paths]] = {}

    def plan(self, ask: Ask) -> Plan:
        """Wait for the batch that is cheapest per job, or ESG's answer."""
        if ask.rate <= 0 or ask.length >= self._sizes[-1]:
            return super().plan(ask)
        of, wait = self._paths_of(ask), self._wait
        path = self._path(ask, of[self.batch_limit(ask.length)], ask.slack_s)
        if not path.feasible:
            return super().plan(ask)
        least, chosen, looked = path.cost_usd * (1 - wait.gain), 0, 0
        for batch in self._sizes[bisect_right(self._sizes, ask.length) :]:
            slack_s = ask.slack_s - wait.patience * (batch - ask.length) / ask.rate - wait.reserve_s
            if slack_s <= 0:
                break  # larger ones take longer to fill
            fuller = self._path(ask, of[batch], slack_s)
            looked += fuller.looked
            if fuller.feasible and fuller.cost_usd < least:
                least, chosen = fuller.cost_usd, batch
        if chosen and (wait_s := self._wait_s(ask, chosen)) >= SHORTEST_S:
            return Plan((), wait_s=wait_s, wait_for=chosen)
        now = super().plan(ask)
        looked += now.steps
        search_s = self.options.base_s + looked * self.options.step_s
        return Plan(now.ranked, search_s, looked, now.carry, now.missed)

    def _wait_s(self, ask: Ask, batch: int) -> float:
        return self._wait.patience * (batch - ask.length) / ask.rate

    def _paths_of(self, ask: Ask) -> dict[int, _Paths]:
        key = (ask.application, ask.stage)
        paths = self._paths.get(key)
        if paths is None:
            stages = self.stages(ask)
            paths = self._paths[key] = {
                b: _Paths(self.group(ask.application, stages, b), self.enough_s(ask, b), {})
                for b in self._sizes
            }
        return paths

    def _path(self, ask: Ask, paths: _Paths, slack_s: float) -> _Path:
        slack_s = self.on_grid_s(min(max(0.0, slack_s), paths.enough_s))
        path = paths.by_slack.get(slack_s)
        if path is None:
            self._look_around(ask, paths, slack_s)
            path = paths.by_slack[slack_s]
        return path

    def _look_around(self, ask: Ask, paths: _Paths, slack_s: float) -> None:
        """Search with this slack, and with those near to it on the grid: one call for all is quicker."""
        if len(paths.by_slack) >= MEMO:
            paths.by_slack.clear()
        step, slacks = self.options.slack_resolution, [slack_s]
        if step > 0:
            level = round(slack_s / step)
            first = level - level % AT_ONCE
            slacks = [step * n for n in range(first, first + AT_ONCE)]
        costs = paths.group.least_costs([self.limit_s(ask, s) for s in slacks], self.options.search)
        for near_s, (cost_usd, looked) in zip(slacks, costs, strict=True):
            paths.by_slack[near_s] = _Path(cost_usd >= 0, cost_usd, looked)


def _build(system: ServerlessSystem, options: Mapping[str, Any]) -> EsgWaitPlanner:
    wait = WaitOptions(options["patience"], options["gain"], options["reserve_s"])
    return EsgWaitPlanner(system, options_of({**options, "replan": True}), wait)


POLICY = Policy(
    name=NAME,
    title="ESG with waits (ours)",
    summary=(
        "As ESG, but a queue waits for a fuller batch where that is cheaper per call and, at the rate of "
        "arrivals of late, leaves enough of the SLO."
    ),
    source="ours; the search is that of ESG (Hui, Xu, Guo, Shen, HPDC 2024)",
    adaptation=(
        "Not part of ESG: its slides name no waits. The time until a batch fills is expected from the last "
        "64 arrivals at the queue."
    ),
    build=_build,
    settings={
        **{name: setting for name, setting in ESG.settings.items() if name != "replan"},
        "patience": Setting(
            1.5,
            "Longest wait, in multiples of the time in which the batch is expected to fill.",
            least=0.01,
            most=100,
        ),
        "gain": Setting(0.01, "Share of the cost per call that a wait must save.", most=1),
        "reserve_s": Setting(0.0, "Seconds of the SLO that are kept back when a wait is judged."),
    },
    look=Look("#6a7f1f", "dashdot", "star"),
)
