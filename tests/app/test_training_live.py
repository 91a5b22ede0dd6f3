"""What work tells while it goes on: training jobs, all of it bounded; how far a placement is."""

import json
import re
import time

import pytest
from app_driver import changed
from drawn import texts, within

from nona.app.jobs.registry import AppJob
from nona.app.pages.queries.simulation_result import early_text
from nona.app.pages.training.drawings import MOST_LANES, MOST_NODES, elastic_drawing, training_drawing
from nona.app.tasks import context as placing
from nona.app.tasks import simulation as tasks_simulation
from nona.app.tasks import training as tasks
from nona.app.tasks.context import JobContext, PlacingReporter
from nona.app.tasks.planning import LAYOUTS, place_scenario
from nona.app.tasks.simulation import simulate_scenario
from nona.app.widgets.components import HEIGHT, WIDTH
from nona.queries.placement.results import SearchProgress, SolvedPlacement
from nona.queries.report.report import SimulatedRun
from nona.queries.simulation.run import Cancelled
from nona.queries.workflows.placing import PlacingProgress
from nona.training.elastic.engine import ElasticProgress
from nona.training.elastic.results import ElasticLive
from nona.training.elastic.system import NodeShare
from nona.training.results import TrainingLive
from nona.training.rounds import TrainingProgress
from nona.training.system import NodeGroup, TrainingCluster

CLUSTER = TrainingCluster((NodeGroup("v100", 2), NodeGroup("k80", 40)))


def report(policy, number, *, job=0, replication=0):
    """Round ``number`` of 360 s: ``job`` is on V100 0, and jobs of 100 s, 200 s, … are complete."""
    start_s, end_s = 360.0 * number, 360.0 * (number + 1)
    of = {"policy": policy, "replication": replication, "fraction": (number + 1) / 200, "time_s": end_s}
    of |= {"completed": number + 1, "mean_jct_s": 50.0 * (number + 2)}
    return TrainingProgress(running=1, waiting=2, placed=(((job,), 1, (0,), start_s, end_s),), **of)


def test_means_are_those_of_all_completed_jobs_and_rounds_are_joined():
    watch = tasks.TrainingWatch(CLUSTER, ["fifo", "isolated"])
    for number in range(4):
        watch.on_progress(report("fifo", number, job=number // 2))
        watch.on_progress(report("fifo", number, replication=1))  # another run: not shown
    told = watch.live()
    assert TrainingLive.from_json(json.loads(json.dumps(told.to_json()))) == told
    fifo = told.policies["fifo"]
    now = fifo.curve[-1]
    assert now.mean_jct_s == pytest.approx(250.0)
    assert (fifo.completed, now.running, now.waiting) == (4, 1, 2)
    assert not told.policies["isolated"].curve
    stays = [(s.jobs, s.gpu, s.start_s, s.end_s) for s in told.stays]
    assert stays == [((0,), "v100", 0.0, 720.0), ((1,), "v100", 720.0, 1440.0)]


def test_what_is_kept_and_drawn_is_bounded():
    watch = tasks.TrainingWatch(CLUSTER, ["fifo"])
    for number in range(2 * tasks.MOST_STAYS):
        watch.on_progress(report("fifo", number, job=number))
    told = watch.live()
    assert len(told.stays) == tasks.MOST_STAYS
    assert len(told.policies["fifo"].curve) <= tasks.MOST_POINTS
    drawn = training_drawing(told)
    lanes = within(drawn, "lane")
    assert len(lanes) <= MOST_LANES
    assert f"{42 - len(lanes)} more GPUs not drawn" in texts(drawn)
    (bars,) = [bars for _, _, (name, (_, _, bars)) in lanes if texts(name) == ["v100 0"]]
    assert bars
    for _, bar, _ in bars:
        assert 0 <= percent(bar["--x"]) < percent(bar["--x"]) + percent(bar["--w"]) <= 100
    assert_inside(within(drawn, "line"))


def percent(length):
    return float(length.removesuffix("%"))


def assert_inside(lines):
    """All points of the curves are in their pictures."""
    points = [point.split(",") for _, line, _ in lines for point in line["points"].split()]
    assert points
    assert all(0 <= float(x) <= WIDTH and 0 <= float(y) <= HEIGHT for x, y in points)


def test_the_picture_goes_on_to_the_next_policy_also_from_a_silent_one_and_bridges_rounds():
    watch = tasks.TrainingWatch(CLUSTER, ["fifo", "isolated"])
    watch.on_progress(report("fifo", 198))
    watch.on_progress(report("isolated", 0, job=7))
    assert watch.live().focus == "isolated"
    assert [s.jobs for s in watch.live().stays] == [(7,)]
    watch = tasks.TrainingWatch(CLUSTER, ["fifo", "isolated"])
    watch.on_progress(report("fifo", 0))
    for number in range(tasks.PATIENCE):
        watch.on_progress(report("isolated", number))
    assert watch.live().focus == "isolated"
    watch = tasks.TrainingWatch(CLUSTER, ["fifo"])
    for number, job in ((0, 3), (4, 3), (9, 5)):
        watch.on_progress(report("fifo", number, job=job))
    stays = [(s.jobs, s.start_s, s.end_s) for s in watch.live().stays]
    assert stays == [((3,), 0.0, 1800.0), ((5,), 1800.0, 3600.0)]


def elastic_report(policy, minute, *, replication=0):
    """After so many minutes: half a job's worth of work each minute, one job on two nodes."""
    of = {"policy": policy, "replication": replication, "fraction": minute / 1000, "time_s": 60.0 * minute}
    mean, given = float("nan") if minute < 2 else 90.0, {7: (NodeShare(1, 4), NodeShare(0, 2)), 8: ()}
    counts = {"running": 1, "waiting": 2, "jobs": 500, "work": minute / 2}
    return ElasticProgress(mean_jct_s=mean, given=given, **counts, **of)


def test_goodput_is_work_over_simulated_time():
    watch = tasks.ElasticWatch(["fifo", "sjf"], 2, 4)
    for minute in range(1, 4):
        watch.on_progress(elastic_report("fifo", minute))
        watch.on_progress(elastic_report("fifo", minute, replication=1))  # another run: not shown
    told = watch.live()
    assert ElasticLive.from_json(json.loads(json.dumps(told.to_json()))) == told
    curve = told.policies["fifo"].curve
    assert [row.goodput for row in curve] == pytest.approx([30.0] * 3)
    assert [row.mean_jct_s for row in curve] == [None, 90.0, 90.0]
    assert {row.used for row in curve} == {6}
    assert told.given == {7: ((1, 4), (0, 2))}
    drawn = elastic_drawing(told)
    assert [(len(c[2]), texts(c)) for c in within(drawn, "cells")] == [(4, ["7"] * 2), (4, ["7"] * 4)]
    assert within(drawn, "panel")[-1][1]["aria-label"] == "6 GPUs run 1 job, 1 of them on several nodes."
    assert [texts(name) for name in within(drawn, "waiting")] == [["sjf"], *[["–"]] * 4]


def test_what_is_kept_of_elastic_jobs_is_bounded_and_turns_to_who_runs():
    watch = tasks.ElasticWatch(["fifo", "sjf"], 100, 4)
    for minute in range(1, 4 * tasks.MOST_POINTS):
        watch.on_progress(elastic_report("fifo", minute))
    assert len(watch.live().policies["fifo"].curve) <= tasks.MOST_POINTS
    for minute in range(1, tasks.PATIENCE + 1):
        assert watch.live().focus == "fifo"
        watch.on_progress(elastic_report("sjf", minute))
    assert watch.live().focus == "sjf"
    drawn = elastic_drawing(watch.live())
    assert [len(cells[2]) for cells in within(drawn, "cells")] == [4] * MOST_NODES
    assert texts(drawn)[-1] == "36 more nodes not drawn"
    assert_inside(within(within(drawn, "measures")[0], "line"))


@pytest.fixture(autouse=True)
def _every_report_is_passed_on(monkeypatch):
    monkeypatch.setattr(placing, "EVERY_S", 0.0)


def asked(tmp_path):
    size = {"jobs": 20, "replications": 1}
    scenario = changed("rag_pipeline", simulation=size, schedulers=["nona"])
    folder = str(tmp_path)
    return {"scenario": scenario.model_dump(mode="json"), "uploads": folder, "folder": folder}


def counts(told, pattern):
    found = (re.search(pattern, m.get("text", "")) for m in told)
    return [int(match[1]) for match in found if match]


def assert_moves(told):
    """The bar never goes back, and moves."""
    shares = [m["fraction"] for m in told if "fraction" in m]
    assert shares == sorted(shares)
    assert len(set(shares)) > 5


@pytest.mark.verify
def test_a_simulation_says_how_far_its_placement_is(tmp_path):
    told = []
    simulate_scenario(asked(tmp_path), JobContext(told.append))
    begins = next(i for i, m in enumerate(told) if m.get("text") == "Preparing the schedulers")
    first = [m for m in told[:begins] if "fraction" in m and "models" not in m["text"]]
    second = told[begins:]
    assert all(m["text"].startswith("The placement: ") for m in first if "text" in m)
    numbers = counts(first, r"candidates, (\d+) runs? done")
    assert len(numbers) > 2
    assert numbers == sorted(set(numbers))
    assert_moves(first)
    assert second[0]["fraction"] == 0.0, "the simulation has the whole bar"
    assert second[0]["open"] is False, "and an estimate"
    assert not any("placement" in m.get("text", "") for m in second)


@pytest.mark.verify
def test_the_bar_of_a_placement_moves(tmp_path):
    told = []
    place_scenario(asked(tmp_path), JobContext(told.append))
    assert_moves(told)
    assert counts(told, r"candidates, (\d+) runs? done"), "the race is told"


def test_a_search_inside_a_simulation_can_be_cancelled(tmp_path):
    told = []

    def stop():
        if any("Simulating candidates" in m.get("text", "") for m in told):
            raise Cancelled

    with pytest.raises(Cancelled):
        simulate_scenario(asked(tmp_path), JobContext(told.append, stop))
    assert not any("live" in m for m in told), "it ended before anything ran"


@pytest.mark.verify
def test_what_has_ended_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(tasks_simulation, "FIRST_AFTER_S", 0.0)
    monkeypatch.setattr(tasks_simulation, "PART", 0)
    names, told = ["nona", "local", "nona-live", "spread"], []
    size = {"jobs": 60, "replications": 3}
    scenario = changed("slides_example", schedulers=names, simulation=size, objective="formula")
    folder = str(tmp_path)
    spec = {"scenario": scenario.model_dump(mode="json"), "uploads": folder, "folder": folder}
    whole = simulate_scenario(spec, JobContext(told.append))
    parts = [SimulatedRun.from_json({**m["best"], "ended_early_s": 3.0}) for m in told if "best" in m]
    begun = [names[:count] for count in (1, 2, 3)] + [names] * 9
    assert [list(p.report.schedulers) for p in parts] == begun, "every run that has ended counts"
    assert list(whole.report.schedulers) == names
    for part in parts:
        for name, run in part.report.schedulers.items():
            assert part.means[name].jct_s == whole.means[name].jct_s[: run.replications]
    assert early_text(parts[5], 3.0) == (
        "The simulation was cancelled after 3.0 s; the figures cover the finished replications "
        "(of 3: nona 2, local 2, nona-live 1 and spread 1)."
    )
    shares = [m["fraction"] for m in told if "fraction" in m]
    assert shares == sorted(shares)


def test_the_time_left_is_that_to_the_limit():
    told = []
    now = [100.0]
    watch = PlacingReporter(JobContext(told.append), before="A: ", clock=lambda: now[0])
    watch.on_progress(PlacingProgress("formula"))
    now[0] = 104.0
    watch.on_progress(PlacingProgress("simulation", 7, 0.25))
    assert told[0]["text"] == "A: Solving the formula"
    assert told[-1]["text"] == "A: Simulating candidates, 7 runs done, at most about 12 s more"


def test_a_step_that_is_over_does_not_lengthen_the_estimate_of_the_next(tmp_path):
    job = AppJob("1", "simulate", "", tmp_path, status="running", started=time.monotonic() - 100.0)
    job.take_in({"id": "1", "fraction": 0.5})
    assert job.remaining_s is not None
    assert job.remaining_s >= 99.9
    job.take_in({"id": "1", "fraction": 0.5, "phase": "runs"})
    assert job.remaining_s is None, "too early"
    job.step = time.monotonic() - 10.0
    assert 9.0 <= job.remaining_s < 100.0
    job.moved -= 4.0  # the share stands still: the estimate counts down and does not grow
    assert job.remaining_s < 5.0


def test_the_number_of_candidates_goes_on_while_the_best_stays(tmp_path):
    scenario = changed("slides_example")
    told = []
    solved = place_scenario(
        {"scenario": scenario.model_dump(mode="json"), "uploads": str(tmp_path)}, JobContext(told.append)
    )
    live = [SearchProgress.from_json(m["live"]) for m in told if "live" in m]
    counts = [search.candidates for search in live]
    assert counts == sorted(counts)
    assert max(counts) <= solved.nona.simulated.candidates
    for search in live:
        names = [step.origin for step in search.steps]
        assert len(set(names)) == len(names), "a candidate has one name"


def test_while_layouts_are_compared_the_picture_of_the_search_stays_and_its_end_is_kept(tmp_path):
    told = []
    solved = place_scenario(
        {
            "scenario": changed("documents_as_deployed", simulation={"jobs": 200}).model_dump(mode="json"),
            "uploads": str(tmp_path),
        },
        JobContext(told.append),
    )
    assert solved.nona.layouts is not None
    job = AppJob("1", "place", "", tmp_path, status="running", started=time.monotonic())
    seen = 0
    for message in told:
        job.take_in({"id": "1", **message})
        if job.live:
            SearchProgress.from_json(job.live)  # as the page reads it
        seen += message.get("text") == LAYOUTS
    assert seen
    assert SolvedPlacement.from_json(job.best).nona.simulated == solved.nona.simulated
