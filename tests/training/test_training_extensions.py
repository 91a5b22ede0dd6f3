"""Switches of a training cluster in whole runs: what is off changes nothing, and what is on adds up."""

from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest

from nona.allocation.registry import get_policy
from nona.errors import SimulationError
from nona.scenario.training import EstimatesSpec, EstimatorSpec, FailuresSpec, MovesSpec, RegionsSpec
from nona.training.checkpoints import daly_s, wall_per_work
from nona.training.extensions import Extensions, hooks_for
from nona.training.question import NO_HOOKS, Hooks
from nona.training.records import TrainingRecords
from nona.training.regions import with_regions
from nona.training.rounds import simulate_training
from nona.training.state import Rates
from nona.training.system import AloneKey, Job, NodeGroup, Throughputs, TrainingCluster, TrainingSystem
from nona.training.throughput_table import shipped_throughputs

REGIONS = {"east": (0, 1), "west": (2,)}


@cache
def _system(jobs: int = 24, seed: int = 3) -> TrainingSystem:
    rng, table = np.random.default_rng(seed), shipped_throughputs()
    models = sorted({k.model for k in table.alone})
    found, now = [], 0.0
    for i in range(jobs):
        model = models[rng.integers(len(models))]
        now += rng.exponential(1500)
        steps = float(int(rng.uniform(0.5, 4) * 3600 * table.rate("v100", model, 1)))
        found.append(Job(f"j{i}", model, steps, arrival_s=now, entity="ab"[i % 2]))
    groups = (NodeGroup("k80", 2, 2), NodeGroup("p100", 1, 2), NodeGroup("v100", 2))
    return TrainingSystem(TrainingCluster(groups), tuple(found), table)


def _run(
    system: TrainingSystem, policy: str = "isolated", hooks: Hooks | None = None
) -> tuple[TrainingRecords, Hooks]:
    hooks = hooks_for(system) if hooks is None else hooks
    chosen = get_policy(policy)
    options = {**chosen.defaults}
    if system.space_sharing:
        options["space_sharing"] = True
    return simulate_training(system, chosen, options, hooks=hooks), hooks


def _same(a: TrainingRecords, b: TrainingRecords) -> None:
    for f in fields(TrainingRecords):
        if f.name not in ("decision_s", "gaps"):
            one, other = getattr(a, f.name), getattr(b, f.name)
            if isinstance(one, np.ndarray):
                assert one.tobytes() == other.tobytes(), f.name
            else:
                assert one == other, f.name


def test_without_switches_there_are_no_hooks() -> None:
    assert hooks_for(_system()) is NO_HOOKS


@pytest.mark.parametrize(
    "switches",
    [
        {"estimates": EstimatesSpec(error=1, bias=1)},
        {"moves": MovesSpec(save=1e15, network=1e15, load=1e15, warmup=0)},
        {"failures": FailuresSpec(mtbf=1e9, checkpoint=0, restart=0, interval=1e6)},
        {"estimator": EstimatorSpec(profiled=1)},
    ],
    ids=lambda s: next(iter(s)),
)
def test_switches_without_effect_leave_equal_records(switches) -> None:
    plain, _ = _run(_system(), hooks=NO_HOOKS)
    found, hooks = _run(replace(_system(), **switches))
    assert isinstance(hooks, Extensions)
    if "moves" in switches or "failures" in switches:
        np.testing.assert_allclose(found.completion_s, plain.completion_s, rtol=1e-6)
    else:
        _same(found, plain)


def test_runs_with_all_switches_repeat_to_the_byte_and_complete() -> None:
    system = replace(
        _system(),
        estimates=EstimatesSpec(bias=1.5),
        estimator=EstimatorSpec(),
        moves=MovesSpec(charge=True),
        failures=FailuresSpec(mtbf=36000),
        regions=RegionsSpec(groups=REGIONS, move=True),
    )
    system = with_regions(system)
    (one, _), (other, _) = _run(system), _run(system)
    _same(one, other)
    assert one.complete
    np.testing.assert_allclose(one.done, one.asked)


@pytest.mark.parametrize(
    "switches",
    [
        {"moves": MovesSpec(warmup=60)},
        {"failures": FailuresSpec(mtbf=20000)},
        {"moves": MovesSpec(warmup=60), "failures": FailuresSpec(mtbf=20000, interval=300)},
    ],
    ids=["moves", "failures", "both"],
)
def test_time_on_gpus_is_steps_done_or_lost(switches) -> None:
    """Alone on one type of GPU the rate never changes: rate · time = steps done + steps lost."""
    table = Throughputs({AloneKey("v100", m, 1): r for m, r in (("a", 2.0), ("b", 5.0), ("c", 3.0))})
    jobs = tuple(
        Job(f"j{m}", m, 40_000 * r, checkpoint_bytes=1e9) for m, r in zip("abc", (2, 5, 3), strict=True)
    )
    system = TrainingSystem(TrainingCluster((NodeGroup("v100", 2),)), jobs, table, **switches)
    found, hooks = _run(system)
    assert isinstance(hooks, Extensions)
    assert found.complete
    rates = np.array([2.0, 5.0, 3.0])
    np.testing.assert_allclose(found.done, found.asked)
    np.testing.assert_allclose(rates * found.busy_s[:, 0], found.done + found.lost, rtol=1e-9)
    seen = hooks.findings()
    spent = seen.move_s + seen.restart_s + seen.checkpoint_s
    undone = (seen.undone_share or 0.0) * found.done.sum()
    assert found.lost.sum() > 0
    assert undone <= found.lost.sum() <= rates.max() * spent + undone + 1e-6


def test_one_job_with_failures_takes_what_the_formula_says() -> None:
    c, m, r = 20.0, 4000.0, 40.0
    work_s = 400 * daly_s(c, m)
    table = Throughputs({AloneKey("v100", "a", 1): 1.0})
    walls = []
    for seed in range(8):
        system = TrainingSystem(
            TrainingCluster((NodeGroup("v100", 1),)),
            (Job("a", "a", work_s),),
            table,
            round_s=1e6,
            seed=seed,
            failures=FailuresSpec(mtbf=m, checkpoint=c, restart=r, interval="daly"),
        )
        found, _ = _run(system)
        walls.append(float(found.jct_s[0]) / work_s)
    half = 4.0 * np.std(walls, ddof=1) / np.sqrt(len(walls))
    assert abs(np.mean(walls) - wall_per_work(daly_s(c, m), c, m, r)) < half


def test_moves_cost_time_and_a_charged_policy_moves_less() -> None:
    paid, _ = _run(replace(_system(), moves=MovesSpec(warmup=60)))
    charged, hooks = _run(replace(_system(), moves=MovesSpec(warmup=60, charge=True)))
    assert isinstance(hooks, Extensions)
    assert charged.moves.sum() < 0.6 * paid.moves.sum()
    assert charged.lost.sum() < paid.lost.sum()
    assert np.nanmean(charged.jct_s) < np.nanmean(paid.jct_s)
    assert hooks.findings().answers > 0


def test_wrong_claims_are_corrected_by_what_rounds_measure() -> None:
    wrong = EstimatesSpec(error=2, bias=2, correct=False)
    _, stays = _run(replace(_system(), estimates=wrong))
    _, corrected = _run(replace(_system(), estimates=wrong.model_copy(update={"correct": True})))
    assert isinstance(stays, Extensions)
    assert isinstance(corrected, Extensions)
    before, after = stays.findings(), corrected.findings()
    assert before.claim_error_first == after.claim_error_first
    assert (after.claim_error_last or 1.0) < 0.1 < (before.claim_error_last or 0.0)
    assert set(after.flagged) & {j.name for j in _system().jobs}


def test_estimated_pairs_become_the_truth_as_they_run() -> None:
    system = replace(_system(), space_sharing=True, estimator=EstimatorSpec(profiled=0.05))
    found, hooks = _run(system, "gandiva")
    assert isinstance(hooks, Extensions)
    assert found.complete
    seen = hooks.findings()
    assert (seen.pair_error_first or 0.0) > 0.02
    ran = next(p.jobs for p in found.placed if len(p.jobs) == 2)
    true = Rates(system).pair(*ran)[None]
    np.testing.assert_array_equal(hooks.believed_pairs(ran, [ran], true), true)
    again, _ = _run(system, "gandiva")
    _same(found, again)


def test_a_job_runs_in_its_region_only() -> None:
    jobs = tuple(replace(j, region="east" if i % 2 else "west") for i, j in enumerate(_system().jobs))
    system = with_regions(replace(_system(), jobs=jobs, regions=RegionsSpec(groups=REGIONS)))
    found, hooks = _run(system)
    assert isinstance(hooks, Extensions)
    for placed in found.placed:
        for job in placed.jobs:
            assert system.cluster.types[placed.kind].endswith(f"@{jobs[job].region}")
    assert hooks.findings().region_moves == 0
    assert all(not row.moved and row.horizon_s > (row.least_stay_s or 0) for row in hooks.findings().advice)


def test_jobs_move_where_the_planner_says_that_it_pays() -> None:
    """All data are in the slow region: moves shorten the mean JCT, and each row of advice pays."""
    jobs = tuple(replace(j, region="east") for j in _system().jobs)
    stay = with_regions(replace(_system(), jobs=jobs, regions=RegionsSpec(groups=REGIONS)))
    move = with_regions(replace(_system(), jobs=jobs, regions=RegionsSpec(groups=REGIONS, move=True)))
    (stayed, _), (moved, hooks) = _run(stay), _run(move)
    assert isinstance(hooks, Extensions)
    assert np.nanmean(moved.jct_s) < np.nanmean(stayed.jct_s)
    seen = hooks.findings()
    assert seen.region_moves == len(seen.advice) > 0
    assert all(row.moved and row.gain_steps > 0 for row in seen.advice)


def test_regions_need_groups_that_exist() -> None:
    with pytest.raises(SimulationError, match="server group 2 is in no region"):
        with_regions(replace(_system(), regions=RegionsSpec(groups={"east": (0, 1)})))
    with pytest.raises(SimulationError, match="there is no server group 5"):
        with_regions(replace(_system(), regions=RegionsSpec(groups={"east": (0, 1, 2, 5)})))
    jobs = (replace(_system().jobs[0], region="moon"),)
    with pytest.raises(SimulationError, match="region 'moon' is not known"):
        with_regions(replace(_system(), jobs=jobs, regions=RegionsSpec(groups=REGIONS)))
