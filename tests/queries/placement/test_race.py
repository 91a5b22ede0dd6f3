"""Races: the better candidate wins, equals are told, what is not steady leaves, the work is bounded."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from sizes import sized

from nona.core.errors import SimulationError
from nona.models.contraction.task_graph import TaskGraph
from nona.models.decomposition import decompose
from nona.queries.schedulers.base import SchedulerTables
from nona.queries.schedulers.sampling import NONA
from nona.queries.simulation.run import RunTimes
from nona.queries.system import BackgroundStream, QueryClass, System
from nona.queries.workflows import race as racing
from nona.queries.workflows.race import Contender, EventBudget, Race, events_per_job

GRAPH = TaskGraph.from_edges("one", [1.0], [])
SYSTEM = System(
    np.arange(1), np.zeros(1, dtype=np.int64), ("gpu",), 1.0, 0.0, "fifo",
        BackgroundStream(), BackgroundStream(),
    (QueryClass("one", GRAPH, decompose(GRAPH.dag), rate=0.5, slo_s=2.0),),
)  # fmt: skip


@pytest.fixture
def told(monkeypatch):
    """Runs of candidates whose tables are (mean, spread, share that never ends); all meet common noise."""
    runs = []

    def job_times(system, scheduler, prepared, options, workload):
        mean, spread, lost = prepared.tables
        rng = np.random.default_rng(options.replication)
        common, own = (
            rng.normal(size=options.jobs),
            np.random.default_rng([options.replication, int(1e6 * (mean + 9))]).normal(size=options.jobs),
        )
        times_s = mean + common + spread * own
        if lost:
            times_s[: max(1, int(lost * options.jobs))] = np.nan
        runs.append((mean, options.jobs, options.replication))
        state = "overloaded" if mean > 100 else "stable"
        return RunTimes(np.zeros(options.jobs, dtype=np.int64), times_s, state)

    monkeypatch.setattr(racing, "job_times", job_times)
    return runs


def contenders(*means, spread=0.5, lost=0.0):
    return [Contender(NONA, SchedulerTables((m, spread, lost), 1)) for m in means]


def raced(candidates, budget=1e9, **more):
    return Race(SYSTEM, EventBudget(budget), **more).run(candidates)


@pytest.mark.parametrize("seed", range(5))
def test_the_quickest_of_many_wins_and_its_lead_is_the_difference(told, seed):
    means = np.random.default_rng(seed).permutation(np.linspace(10, 14, 40)).tolist()
    outcome = raced(contenders(*means))
    assert outcome.best.contender.prepared.tables[0] == pytest.approx(10.0, abs=0.11)
    assert [t.contender.prepared.tables[0] for t in outcome.order[-5:]] > [11.0] * 5
    assert len(outcome.order) == 40
    assert (
        outcome.lead.low
        <= outcome.order[1].contender.prepared.tables[0] - outcome.best.contender.prepared.tables[0]
    )


def test_common_noise_cancels(told):
    """Jobs vary by 10 % of the mean, but by the same in both: 0.5 % apart is found at once."""
    outcome = raced(contenders(10.0, 10.05, spread=0.001))
    assert outcome.best.mean == pytest.approx(10.0, abs=0.1)
    assert outcome.lead.low > 0.04
    assert len(told) == 2, "one run each was enough"


def test_a_race_of_equals_ends_and_names_no_leader(told):
    outcome = raced(contenders(10.0, 10.0))
    assert outcome.lead.low <= 0 <= outcome.lead.high
    assert len(told) <= 2 * racing.ROUNDS


def test_what_does_not_end_its_jobs_leaves_whatever_its_mean_is(told):
    outcome = raced([*contenders(5.0, lost=0.01), *contenders(10.0)])
    assert outcome.best.mean == pytest.approx(10.0, abs=0.2)
    assert outcome.order[1].mean == math.inf
    assert raced(contenders(101.0, 102.0, 10.0)).best.contender.prepared.tables[0] == 10.0
    assert outcome.lead is None


def test_late_jobs_decide_where_slos_count(told):
    """The one with the larger mean but less spread keeps more jobs within 2 s."""
    steady, wild = contenders(0.0, spread=0.01)[0], contenders(-0.3, spread=4.0)[0]
    assert raced([wild, steady]).best.contender is wild
    late = raced([wild, steady], goal="slo")
    assert late.best.contender is steady
    assert late.best.mean == pytest.approx(0.0228, abs=0.01)  # P(N(0, 1) > 2)


def test_where_no_job_is_late_the_quicker_one_wins_and_the_lead_in_late_jobs_is_0(told):
    slow, quick = contenders(-5.0, spread=0.1)[0], contenders(-8.0, spread=0.1)[0]
    outcome = raced([slow, quick], goal="slo")
    assert outcome.best.contender is quick
    assert outcome.best.mean == 0.0
    assert outcome.lead.mean == 0.0


def test_the_first_one_is_beaten_when_the_winner_is_ahead_of_it_whoever_is_second(told):
    """Two equals that are ahead of the first have no lead over each other, but both over it."""
    outcome = raced(contenders(11.0, 10.0, 10.0))
    assert outcome.lead.low <= 0
    assert outcome.is_first_beaten(0.95)
    assert not raced(contenders(10.0, 11.0)).is_first_beaten(0.95), "it has won"
    assert not raced(contenders(10.0, 10.0, spread=3.0)).is_first_beaten(0.95)
    assert raced([*contenders(5.0, lost=0.01), *contenders(10.0)]).is_first_beaten(0.95), "it lost jobs"


def test_a_round_has_half_the_candidates_or_few(told):
    raced(contenders(*np.linspace(10, 10.4, 32).tolist(), spread=3.0))
    rounds = {}
    for _, _, replication in told:
        rounds[replication] = rounds.get(replication, 0) + 1
    counts = list(rounds.values())
    assert counts[0] == 32
    assert len(counts) > 2
    for before, after in itertools.pairwise(counts):
        assert after <= max((before + 1) // 2, racing.FEW)


def test_a_budget_ends_a_race_and_equal_races_have_equal_results(told):
    spent = EventBudget(1.0)
    outcome = Race(SYSTEM, spent).run(contenders(10.0, 10.1, 10.2, 10.3))
    assert len(told) == 4, "one round"
    assert spent.spent == 1.0
    again = Race(SYSTEM, EventBudget(1.0)).run(contenders(10.0, 10.1, 10.2, 10.3))
    assert [t.mean for t in again.order] == [t.mean for t in outcome.order]
    with pytest.raises(SimulationError, match="no candidate"):
        raced([])


def test_events_are_tasks_and_background():
    busy = replace(
        SYSTEM,
        executor_server=np.arange(3),
        executor_class=np.zeros(3, dtype=np.int64),
        background_compute=BackgroundStream(2.0, 0.1),
        background_network=BackgroundStream(4.0, 0.1),
    )
    assert events_per_job(SYSTEM) == 1.0
    assert events_per_job(busy) == pytest.approx(1 + racing.BACKGROUND * (3 * 2.0 + 4.0) / 0.5)


def test_real_runs_find_the_quicker_scheduler():
    """M/D/1 on one executor against the same with its work cut in halves that queue apart: theory decides."""
    from nona.queries.placement.fixed import local_placement
    from nona.queries.schedulers.registry import get_scheduler

    wide = System(
        np.arange(4), np.zeros(4, dtype=np.int64), ("gpu",), 1.0, 0.0, "fifo",
        BackgroundStream(), BackgroundStream(),
        (QueryClass("one", GRAPH, decompose(GRAPH.dag), rate=2.8),),
    )  # fmt: skip
    placement = local_placement(wide)
    candidates = []
    for name in ("random", "least-loaded"):
        scheduler = get_scheduler(name)
        candidates.append(Contender(scheduler, scheduler.prepare(wide, placement, {})))
    outcome = Race(wide, EventBudget(sized(4e6, 2e7))).run(candidates)
    assert outcome.best.contender.scheduler.name == "least-loaded"
    random = outcome.order[1]
    assert random.mean == pytest.approx(1 + 0.7 / (2 * 0.3), rel=0.15)  # M/D/1: 1 + ρ/(2(1−ρ))
