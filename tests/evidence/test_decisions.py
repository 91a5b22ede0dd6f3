"""The study of decisions: cells are a fair part, runs agree with theory, what is stored comes out again."""

import csv
import json
from collections import Counter

import pytest

from evidence import results as studies
from evidence.decision_cells import (
    BACKGROUNDS,
    LINKS,
    LOADS,
    Cell,
    all_cells,
    cell_scenario,
    distributes,
    fraction,
    workload_table,
)
from evidence.decisions import (
    TWINS,
    Contest,
    DecisionSettings,
    Effort,
    Question,
    Size,
    decisions_study,
    is_precise,
    measure,
    planned,
)
from evidence.reports import decisions
from evidence.reports.decision_figures import ratios_figure
from evidence.reports.decisions import findings, presented, title
from evidence.results import DecisionStudy
from nona.core.statistics import Ratio
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.shipped import stored_result
from tests.cli.calling import refusal, text
from tests.core.filled import filled


def cell_system(name, cell):
    return prepare(cell_scenario(workload_table()[name], cell)).system


@pytest.mark.parametrize("number", range(5))
def test_a_quarter_of_the_cells_has_every_pair_of_levels_as_evenly_as_can_be(number):
    cells = fraction(number)
    assert len(set(cells)) == len(cells) == 12
    links_loads = Counter((c.link, c.load) for c in cells)
    backgrounds_loads = Counter((c.background, c.load) for c in cells)
    links_backgrounds = Counter((c.link, c.background) for c in cells)
    assert set(links_loads.values()) == set(backgrounds_loads.values()) == {1}
    assert len(links_loads) == len(LINKS) * len(LOADS)
    assert len(backgrounds_loads) == len(BACKGROUNDS) * len(LOADS)
    assert max(links_backgrounds.values()) == 1
    assert Counter(c for n in range(number, number + 4) for c in fraction(n)) == Counter(all_cells())


@pytest.mark.verify
def test_the_plan_has_every_network_and_three_loads_of_what_cannot_be_split():
    tasks = planned(DecisionSettings())
    found = Counter(name for name, _ in tasks)
    assert set(found) == set(workload_table()) - TWINS
    assert {n for n, count in found.items() if count == 3} == {
        n for n, w in workload_table().items() if not distributes(w)
    }
    assert set(found.values()) == {3, 12}
    assert {cell for _, cell in tasks if cell.link is not None} == set(all_cells())
    assert {n for n, _ in planned(DecisionSettings(full=True))} == set(workload_table())
    assert len(planned(DecisionSettings(networks=("gpt2",), full=True))) == 48
    chosen = planned(DecisionSettings(networks=("gpt2", "vgg16"), links=(25.0,)))
    assert [t for t in tasks if t[0] == "gpt2" and t[1].link == 25.0] == [t for t in chosen if t[0] == "gpt2"]


@pytest.mark.parametrize("name", ["five_models", "whisper_small"])
def test_a_cell_has_its_load_and_every_model_an_equal_share_of_it(name):
    system = cell_system(name, Cell(100.0, 0.6, 0.5))
    shares = [q.rate * float(q.tasks.compute_s[0].sum()) for q in system.queries]
    assert sum(shares) / system.executors == pytest.approx(0.5)
    assert shares == pytest.approx([shares[0]] * len(shares))
    stream = system.background_network
    assert stream.rate * stream.mean / system.capacity == pytest.approx(0.6)
    assert (system.capacity, system.executors) == (100e9 / 8, 16)


@pytest.mark.verify
def test_a_single_task_takes_as_long_as_in_a_queue_of_one_server():
    """M/D/1: S·(1 + ρ/(2(1 − ρ))), for every scheduler that draws an executor."""
    cell = Cell(None, None, 0.5)
    row = measure(workload_table()["vgg16"], cell, Size(jobs=6000, replications=5, most=5, engine="auto"))
    service_s = float(cell_system("vgg16", cell).queries[0].tasks.compute_s[0].sum())
    for name in ("nona", "local", "expert"):
        mean_s, half_width_s = known(row, name)
        assert abs(mean_s - 1.5 * service_s) <= 2 * half_width_s
    assert known(row, "jsq-d")[0] < 1.3 * service_s
    assert (row.blind.ratio, row.blind.low, row.blind.high) == (1.0, 1.0, 1.0)


def known(cell, name):
    """Mean JCT and half-width of a scheduler that has a steady state."""
    return cell.schedulers[name].mean_s, cell.schedulers[name].half_width_s


def contest(names, question, cell, effort):
    system = cell_system("ensemble_8", cell)
    chosen = {n: (get_scheduler(n), get_scheduler(n).prepare(system, None, {})) for n in names}
    made = Contest(system, chosen, effort, [question])
    made.hold()
    return made


def test_what_overloads_the_link_has_no_steady_state_and_costs_a_short_run():
    names = ("local", "spread", "jsq-d")
    found = contest(
        names, Question("local", names[1:]), Cell(10.0, 0.6, 0.5), Effort(400, 100, 400, 2, 4, "auto")
    )
    assert [found.entrant(name).runs for name in names] == [2, 0, 0]
    assert all(found.entrant(name).reason for name in names[1:])
    assert found.answer(found.questions[0]) is None


def test_rounds_go_on_until_the_ratio_is_known_and_what_is_far_behind_is_not_repeated():
    question = Question("random", ("local", "spread", "jsq-d"))
    names = ("random", "local", "spread", "jsq-d")
    found = contest(names, question, Cell(200.0, 0.0, 0.2), Effort(300, 100, 400, 2, 6, "auto"))
    answer = found.answer(question)
    runs = {n: found.entrant(n).runs for n in names}
    assert answer.ratio.n == runs["random"]
    assert is_precise(answer.ratio) or runs["random"] == 6
    assert runs["local"] == 1  # nearly twice as long as those that split
    assert (found.entrant("local").half_width_s or 0) > 0
    best = min(("spread", "jsq-d"), key=lambda n: found.entrant(n).mean_s)
    assert answer.best == best
    ratio = found.entrant("random").mean_s / found.entrant(best).mean_s
    assert answer.ratio.value == pytest.approx(ratio, rel=0.05)
    # a ratio far from 1 need not be known as well
    assert is_precise(Ratio(0.5, 0.46, 0.54, 5))
    assert not is_precise(Ratio(0.99, 0.98, 1.0, 5))
    assert not is_precise(Ratio(1.0, float("nan"), float("nan"), 1))


@pytest.mark.verify
def test_results_do_not_depend_on_the_number_of_processes():
    settings = DecisionSettings(networks=("vgg16",), jobs=150, replications=2, most=2)

    def timeless(cell):
        placement = cell.placement.model_copy(update={"seconds": 0.0})
        return cell.model_copy(update={"seconds": 0.0, "placement": placement})

    alone, shared = (decisions_study(settings, engine="auto", workers=n) for n in (1, 2))
    assert alone.networks == shared.networks
    assert [timeless(c) for c in alone.cells] == [timeless(c) for c in shared.cells]
    assert studies.DecisionStudy.from_json(json.loads(json.dumps(alone.to_json(), allow_nan=False))) == alone


def test_the_stored_study_has_its_cells_and_its_origin_and_is_told_in_full():
    data = stored_result(DecisionStudy)
    about = data.about
    assert about.command.startswith("nona study decisions --json")
    assert {c.network for c in data.cells} == set(data.networks) <= set(workload_table())
    assert "--network" in about.command or set(data.networks) == set(workload_table()) - TWINS
    for cell in data.simulated():
        assert set(cell.schedulers) <= set(about.schedulers)
    told = presented(data).text()
    assert title(data) in told
    assert decisions.where(max(decisions.compared(data, "blind"), key=lambda c: c.answer.ratio).cell) in told
    for key in decisions.QUESTIONS:
        drawn = sum(len(trace.y) for trace in ratios_figure(data, key).data)
        assert drawn == len(decisions.compared(data, key))
    assert len(decisions.cells(data)) == len(data.cells)


@pytest.mark.verify
@pytest.mark.parametrize("name", ["resnet50", "vgg16"])
def test_a_cell_of_the_stored_study_can_be_made_again(name):
    """Placed alike; simulated in shorter runs, within both intervals."""
    kept = next(c for c in stored_result(DecisionStudy).simulated() if c.network == name)
    cell = Cell(kept.link, kept.background, kept.load)
    again = measure(workload_table()[name], cell, Size(jobs=3000, replications=5, most=5, engine="auto"))
    assert again.placement.objective_s == pytest.approx(kept.placement.objective_s, rel=0.03)
    for scheduler in ("nona", "local"):
        (new_s, new_half_s), (old_s, old_half_s) = known(again, scheduler), known(kept, scheduler)
        assert abs(new_s - old_s) <= 2 * (new_half_s + old_half_s)
    for one, other in ((again.blind, kept.blind), (kept.blind, again.blind)):
        assert one.low <= other.high + 1e-3


def steady(seconds):
    return studies.Entrant(mean_s=seconds, half_width_s=1e-4, runs=5)


def made(ratio, low, **rest):
    cell = filled(
        studies.SimulatedCell,
        network="net",
        link=25.0,
        background=0.3,
        load=0.5,
        placement=filled(studies.PlacementFigures, objective_s=0.01, predicted_s=0.01),
        schedulers={
            "nona": steady(0.01 * ratio),
            "local": steady(0.01),
            "spread": studies.Entrant(reason="offered to the link: 1.2"),
        },
        blind=studies.RatioToBest(best="local", ratio=ratio, low=low, high=2 * ratio - low, pairs=5),
    )
    return cell.model_copy(update=rest)


def study_of(*cells):
    about = filled(studies.DecisionAbout, events=1000, replications=5, schedulers=("nona", "local", "spread"))
    facts = filled(
        studies.NetworkFacts, family="U-Net", models=("net",), tasks=12, interior=10, work_s=0.01, bytes=1e6
    )
    return studies.DecisionStudy(about=about, networks={"net": facts}, cells=cells)


DATA = study_of(made(0.9, 0.88), made(1.005, 1.0), made(1.02, 1.0), made(2.0, 1.9))


def test_verdicts_need_the_whole_interval():
    cells = decisions.compared(DATA, "blind")
    assert [decisions.verdict(c.answer, decisions.GOAL) for c in cells] == ["met", "met", "open", "missed"]
    assert decisions.counts(cells, decisions.GOAL) == {"met": 2, "open": 1, "missed": 1}
    assert decisions.compared(DATA, "live") == []
    alone = study_of(made(1.0, 1.0, link=None, background=None))
    assert decisions.compared(alone, "blind") == []  # nothing to distribute, nothing to decide
    assert decisions.prediction_error(DATA.simulated()[3]) == pytest.approx(-0.5)


def test_what_has_no_steady_state_meets_no_goal_and_what_has_no_placement_is_told():
    held = {"nona": studies.Entrant(reason="offered to the link: 1.3"), "local": steady(0.01)}
    lost = made(1.0, 1.0, blind=None, schedulers=held)
    data = study_of(*DATA.cells, lost)
    assert decisions.unsteady(data, "blind") == [lost]
    assert decisions.sides(data, "blind") == decisions.Sides(faster=1, equal=1, slower=3, margin=0.01)
    assert title(data).startswith("Of 5 cells")
    assert "without a steady state in 1 more" in findings(data)[0]
    assert decisions.networks(data).texts()[0]["nona at most 1.01"] == "2 of 5"
    # a cell without a placement is told with its reason
    lost = studies.UnplacedCell(
        network="net", link=25.0, background=0.3, load=0.8, error="No room.", seconds=1.0
    )
    data = study_of(*DATA.cells, lost)
    assert findings(data)[-1] == "Not placed: net, 25 Gbit/s, background 30 %, load 80 %: No room."
    assert decisions.cells(data).texts()[-1]["note"] == "No room."
    assert decisions.cells(data).texts()[-1]["nona / best"] == "–"
    assert len(decisions.entrants(data)) == len(decisions.entrants(DATA))
    assert studies.DecisionStudy.from_json(data.to_json()) == data


def test_the_command_runs_and_writes(capsys, tmp_path, monkeypatch):
    file, asked = tmp_path / "cells.csv", []
    run = lambda given, **how: asked.append(given) or DATA  # noqa: E731
    monkeypatch.setattr("evidence.decisions.decisions_study", run)
    words = "--network slides_example --link 25 --jobs 150 --replications 2 --most 2 --engine auto"
    shown = text(capsys, "study", "decisions", *words.split(), "--csv", file)
    of = {"networks": ("slides_example",), "links": (25.0,)}
    assert asked == [DecisionSettings(**of, jobs=150, replications=2, most=2)]
    assert title(DATA) in shown
    assert len(list(csv.DictReader(file.read_text("utf-8").splitlines()))) == len(decisions.entrants(DATA))
    assert "nothing" in refusal(capsys, "study", "decisions", "--network", "nothing")
