"""Words, rows and the working of a placement: said and recomputed from the numbers of the report."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from sizes import first

from nona.core.document import Estimate
from nona.core.html.pieces import document
from nona.queries.placement import results
from nona.queries.placement.fixed import local_placement, spread_placement
from nona.queries.report.html import placement_section
from nona.queries.report.placement import comparison, figures, tables
from nona.queries.report.placement import text as words_of
from nona.queries.report.placement.report import placement_report
from nona.queries.report.placement.working import working
from nona.queries.workflows.placement_outcome import placement_outcome
from nona.queries.workflows.placement_times import simulated
from nona.queries.workflows.placements import compare, place, predictions
from nona.queries.workflows.preparation import prepare
from nona.scenario.file import load_scenario, scenario_from_mapping
from nona.scenario.sample_files import scenario_path
from tests.core.filled import but, changed
from tests.queries.report.placement_sample import MIX, report


def test_a_bound_above_what_was_simulated_is_no_bound():
    """It says so, instead of a gap that would read as a proof."""
    high = results.CertifiedOptimum(objective_s=0.1, lower_bound_s=0.09, gap=0.1)
    assert "bounds no simulated time" in comparison.optimum_text(report(formula=high))
    assert "bounds no simulated time" not in comparison.optimum_text(report())
    unknown = report(formula=None, predicted=but(MIX, jct_s=None))
    assert comparison.formula_text(unknown) == (
        "The formula has no waits for batches, shared GPUs and closed loops; only loads are predicted."
    )


@pytest.mark.parametrize(
    ("objective", "field", "narrow", "wide"),
    [
        ("mean-jct", "mean", ((0.0099, 0.0101), (0.0109, 0.0111)), ((0.008, 0.012), (0.009, 0.013))),
        ("slo", "misses", ((0.0099, 0.0101), (0.0109, 0.0111)), ((0.008, 0.012), (0.009, 0.013))),
    ],
)
def test_a_placement_is_better_where_intervals_are_apart(objective, field, narrow, wide):
    """10 against 11, once with narrow and once with overlapping intervals."""
    made = report(objective=objective)
    ends = "ci95" if field == "mean" else "misses_ci95"
    runs = "run_means" if field == "mean" else "run_hits"

    def beside(own, other, *paired):
        pair = [
            but(made, simulated=but(made.simulated, **{field: value, ends: within, runs: of_runs}))
            for (value, within), of_runs in zip(
                ((0.010, own), (0.011, other)), paired or ((), ()), strict=True
            )
        ]
        return SimpleNamespace(nona=pair[0], local=pair[1], spread=None)

    def order(*given):
        return comparison._order(beside(*given), "local")

    assert not order(*narrow).startswith("not clearly")
    assert order(*wide) == f"not clearly {order(*narrow)}"
    assert comparison.distance_text(beside(*wide), "local") == "not clearly different from local"
    # The same jobs: what the runs differ by decides, however wide the interval of each mean is.
    noise, gain = np.array([-0.002, -0.001, 0.0, 0.001, 0.002]), np.array([1, 0.8, 1.2, 0.9, 1.1]) * 1e-3
    alike = tuple(0.010 + noise), tuple(0.010 + noise + gain)
    assert order(*wide, *alike) == order(*narrow)
    assert order(*narrow, alike[0], tuple(0.011 - noise)) == order(*wide)


def test_a_search_for_kept_slos_tells_the_late_jobs_and_not_the_mean():
    late = Estimate(mean=0.031, ci95=(0.02, 0.05))
    step = results.SearchStep(elapsed_s=1.0, mean_s=0.09, ci95=None, origin="local", candidates=5)
    found = but(step, late=late)
    assert "mean JCT 90 ms" in words_of.best_so_far(results.SearchProgress(steps=(step,)))
    assert ": 3.1 % late (" in words_of.best_so_far(results.SearchProgress(steps=(found,)))
    assert [row["late jobs"] for row in tables.steps([found]).texts()] == ["3.1 % (2.0 % to 5.0 %)"]
    assert [row["mean JCT"] for row in tables.steps([step]).texts()] == ["90 ms"]
    by_mean, by_late = (figures.steps_figure([s, s]) for s in (step, found))
    assert by_mean.data[0].y == (90.0, 90.0)
    assert by_late.data[0].y == (3.1, 3.1)
    assert (by_mean.layout.yaxis.title.text, by_late.layout.yaxis.title.text) == (
        "mean JCT, ms",
        "late jobs, %",
    )


def test_a_model_without_weights_is_in_the_row_of_the_executors_that_run_it():
    t4, l4 = (
        results.ClassMemory(
            executor_class=kind,
            executors=1,
            memory_bytes=None,
            weights_bytes=held,
            resident_bytes=0.0,
            free_bytes=None,
        )
        for kind, held in (("t4", {"big": 9.0}), ("l4", {}))
    )
    weights = {"big": 9.0, "flow": 0, "twin": 0}
    told = report(
        predicted=but(MIX, classes=(MIX.classes[0], but(MIX.classes[0], executor_class="l4"))),
        class_shares={
            "big": {"t4": 1.0, "l4": 0.0},
            "flow": {"t4": 1.0, "l4": 0.0},
            "twin": {"t4": 0.5, "l4": 0.5},
        },
        memory=results.MemoryReport(
            classes=(t4, l4),
            models={
                n: results.ModelMemory(weight_bytes=w, replicas=1, replicas_bytes=w)
                for n, w in weights.items()
            },
            replicas_bytes=9.0,
        ),
    )
    assert [row["models"] for row in tables.classes(told).texts()] == [
        "big, flow (no weights), twin (no weights)",
        "twin (no weights)",
    ]


def test_one_class_is_told_alone_several_by_the_busiest_and_needs_no_shares():
    told = "All executors are of one class: load 50.0 %, mean wait 1 ms"
    assert words_of.servers_finding(report()) == told
    busy = results.PredictedClass(executor_class="l4", executors=1, utilization=0.75, wait_s=0.004)
    several = report(predicted=but(MIX, classes=(*MIX.classes, busy)))
    assert words_of.servers_finding(several) == (
        "l4 has the highest load of 2 executor classes, 75.0 %; mean waits are 1 ms to 4 ms by class"
    )
    study = prepare(changed())
    told = placement_report(study.system, place(study))
    assert not tables.class_shares(told)
    assert "one class: load " in words_of.servers_finding(told)
    assert words_of.memory_finding(told).startswith("No model has weights")
    assert "a100-40gb: 3 x" not in words_of.placement_text(told)


@pytest.fixture(scope="module")
def study():
    return prepare(load_scenario(scenario_path("mig_layouts")))


@pytest.fixture(scope="module")
def told_report(study):
    placement = place(study)
    told = placement_report(study.system, placement)
    for row, predicted in zip(told.predicted.classes, placement.prediction.classes, strict=True):
        assert (row.utilization, row.wait_s) == (predicted.utilization, predicted.wait_s)
    json.dumps(told.to_json(), allow_nan=False)
    return told


@pytest.mark.verify
def test_weights_are_those_of_the_models_at_their_precision_and_a_uniform_draw_is_told_as_such(
    study, told_report
):
    for model, name in zip(study.models, study.scenario.labels, strict=True):
        # fp32 files, costed at fp16
        assert told_report.memory.models[name].weight_bytes == pytest.approx(model.graph.weight_bytes / 2)
    for row in told_report.memory.classes:
        assert row.memory_bytes == study.cluster.classes[row.executor_class].memory_bytes
        same = sum(e.executor_class == row.executor_class for e in study.cluster.executors)
        assert row.executors == same
    local = simulated(study.system, local_placement(study.system))
    told = placement_report(study.system, local)
    for row in told.class_shares.values():
        assert list(row.values()) == pytest.approx(study.system.class_weights.tolist())


def test_words_rows_and_html_say_the_numbers_of_every_class(told_report):
    classes = told_report.predicted.classes
    busiest = max(classes, key=lambda c: c.utilization).executor_class
    assert words_of.servers_finding(told_report).startswith(
        f"{busiest} has the highest load of 3 executor classes"
    )
    assert "of an executor" in words_of.memory_finding(told_report)
    assert [r["executor class"] for r in tables.classes(told_report).texts()] == [
        c.executor_class for c in classes
    ]
    shown = {r["model"]: r for r in tables.class_shares(told_report).texts()}
    for name, row in told_report.class_shares.items():
        for kind, share in row.items():
            assert (shown[name][kind] == "–") == (share < 1e-6)
    copies = {r["model"]: r["replicas"] for r in tables.REPLICAS.fill(told_report.memory.models).texts()}
    for name, row in told_report.class_shares.items():
        held = sum(c.executors for c in classes if row[c.executor_class] > 0)
        assert copies[name] == f"{held:,}"
    text = words_of.placement_text(told_report)
    html = document("", [placement_section(told_report)])
    for row in classes:
        assert f"{row.executor_class}: {row.executors} x" in text
        assert row.executor_class in html
    assert "Probability of each executor class" in html


def test_where_a_uniform_draw_overloads_executors_local_has_no_steady_state():
    """Shares keep a slow class out of the way; what draws every executor alike cannot."""
    cluster = {"servers": [{"count": 2, "gpu": "a100-40gb"}, {"count": 2, "gpu": "t4"}]}
    names, row = ["nona", "local", "spread"], {"model": "vgg16", "rate": "550/s"}
    study = prepare(scenario_from_mapping({"cluster": cluster, "workload": [row], "schedulers": names}))
    placement = place(study)
    found = compare(study, placement)
    assert (found.local, found.spread) == (None, None)
    assert max(c.utilization for c in placement.prediction.classes) < 1
    by_formula = {"nona": placement.prediction.jct_s, "local": None, "spread": None}
    assert predictions(study, placement) == by_formula
    told = placement_outcome(study, placement, "today", found)
    wanted = "nona: local overloads executors, spread overloads executors"
    assert comparison.comparison_finding(told) == wanted
    assert "stays on one server, as under local. But the placement chooses how often" in words_of.verdict(
        told.nona, told.local
    )


TWO_MODELS = {
    "version": 1,
    "cluster": {"servers": [{"count": 4}, {"count": 2, "mig": "3g.20gb, 3g.20gb"}]},
    "background": {"compute": {"utilization": 0.1}, "network": {"utilization": 0.3}},
    "workload": [
        {"model": "googlenet", "rate": "400/s", "service_scv": 0.5},
        {"model": "slides_example", "rate": "20/s"},
    ],
}


def systems():
    cluster = {**TWO_MODELS["cluster"], "network": {"discipline": "processor-sharing"}}
    shared = {**TWO_MODELS, "cluster": cluster}
    return {
        "slides": changed(),
        "mix": scenario_from_mapping(TWO_MODELS),
        "shared": scenario_from_mapping(shared),
        "racks": but(load_scenario(scenario_path("racks_and_nics")), objective="formula"),
    }


@pytest.fixture(scope="module", params=first(2, ["slides", "racks", "mix", "shared"]))
def solved(request):
    scenario = systems()[request.param]
    study = prepare(scenario)
    return study.system, place(study), scenario.labels


def values(found):
    """Key → value; what has no finite value is infinite."""
    return {line.key: math.inf if line.value is None else line.value for line in found.lines}


def test_every_line_equals_the_solvers_own_value(solved):
    system, placement, names = solved
    found, p = working(system, placement, names), placement.prediction
    told = values(found)
    assert told["link_utilization"] == pytest.approx(p.network_utilization, rel=1e-12)
    shared = p.network_utilization / (1 - p.network_utilization)
    wait, rel = (p.network_wait_s, 1e-12) if system.discipline == "fifo" else (shared, 1e-6)
    assert told["link_wait"] == pytest.approx(wait, rel=rel)
    for link in p.links if len(p.links) > 1 else ():
        assert told[f"link_utilization:{link.name}"] == pytest.approx(link.utilization, rel=1e-12)
        assert told[f"link_wait:{link.name}"] == pytest.approx(link.wait_s, rel=1e-12)
    assert told["server_wait"] == pytest.approx(p.server_wait_s, rel=1e-12)
    per_class = [told[f"utilization:{k}"] for k in system.class_names]
    assert np.dot(per_class, system.class_weights) == pytest.approx(p.compute_utilization, rel=1e-12)
    assert told["objective"] == pytest.approx(p.jct_s, rel=1e-12)
    assert told["gap"] == pytest.approx(placement.formula.gap, rel=1e-6, abs=1e-12)
    for name, predicted in zip(names, p.queries, strict=True):
        model = found.models[name]
        assert model.lines[0].value == pytest.approx(predicted.jct_s, rel=1e-12)
        for subgraph in model.subgraphs:
            assert sum(c.probability for c in subgraph.configurations) == pytest.approx(1)
    for line in found.lines:  # formulas are filled with numbers
        assert "=" in line.filled
        assert any(c.isdigit() for c in line.filled)
        assert line.filled.count("{") == line.filled.count("}")
        assert "nan" not in line.filled


@pytest.mark.parametrize("fixed", [local_placement, spread_placement])
def test_fixed_placements_add_up_too(fixed, solved):
    system, _, names = solved
    placement = fixed(system)
    told = values(working(system, placement, names))
    assert told["objective"] == pytest.approx(placement.prediction.mean_s, rel=1e-12)
    assert told["server_wait"] == pytest.approx(placement.prediction.server_wait_s, rel=1e-12)
    assert "gap" not in told
