"""Figures, titles and tables of a training cluster show the numbers of its outcome."""

import pytest

from nona.training.report import figures, findings, tables, traces
from nona.training.results import ExtensionFindings, GpuInterval
from tests.core.filled import but
from tests.training.training_sample import NAMES, ROUND_S, TYPES, one_more, outcome, trace

REPORT = outcome().report
POLICIES = REPORT.policies
AWARE, AGNOSTIC = POLICIES


def test_the_gain_is_the_ratio_of_the_twins_means_and_without_them_the_shortest_mean_is_said():
    gain = findings.gain_of(POLICIES)
    assert (gain.aware, gain.agnostic) == (AWARE, AGNOSTIC)
    assert gain.ratio == pytest.approx(10_800 / 7200)
    assert findings.training_finding(REPORT).value == "1.50 ×"
    told = "shortens the mean JCT by 33 %: 2 h under max-min-fairness, 3 h under"
    assert told in findings.gain_sentence(POLICIES)
    assert findings.best_sentence(POLICIES) == (
        "max-min-fairness has the shortest mean JCT, 2 h, at $12.00; "
        "max-min-fairness-agnostic costs least, $10.00."
    )
    alone = {AWARE: POLICIES[AWARE]}
    assert findings.gain_of(alone) is None
    assert findings.gain_of({"fifo": POLICIES[AWARE], "isolated": POLICIES[AGNOSTIC]}) is None, "no twins"
    only = findings.training_finding(but(REPORT, policies=alone))
    assert (only.label, only.value, only.hint) == ("Shortest mean JCT", "2 h", "Under max-min-fairness.")
    assert findings.best_sentence(alone).endswith("and costs least, $12.00.")
    turned = {AWARE: POLICIES[AGNOSTIC], AGNOSTIC: POLICIES[AWARE]}
    assert "does not shorten" in findings.gain_sentence(turned)
    assert findings.training_finding(but(REPORT, policies=turned)).label == "Shortest mean JCT"
    assert findings.training_finding(REPORT).lead == findings.gain_sentence(POLICIES)
    assert only.lead == findings.best_sentence(alone)


def test_cost_against_jct_has_the_frontier_and_distributions_end_at_all_jobs():
    made = figures.pareto_figure(POLICIES)
    line, *points = made.data
    assert list(line.x) == [10.0, 12.0]
    assert [(p.name, p.x[0], p.y[0]) for p in points] == [(AWARE, 12.0, 2.0), (AGNOSTIC, 10.0, 3.0)]
    assert points[0].error_y.array[0] == pytest.approx(0.2)
    assert figures.frontier([(1, 1), (2, 2), (1, 2)]) == [(1, 1)]
    jct, rho = figures.jct_figure(POLICIES), figures.rho_figure(POLICIES)
    jcts = POLICIES[AWARE].jct_s
    shown = dict(zip(jct.data[0].y, jct.data[0].x, strict=True))
    assert [shown[p] for p in (0, 50, 100)] == pytest.approx([1.0, 2.0, 3.0])
    assert [3600 * shown[p] for p in (50, 95, 99)] == pytest.approx([jcts.p50, jcts.p95, jcts.p99])
    assert max(rho.data[1].x) == 1.6
    first, *others = POLICIES[AWARE].jobs
    mixed = but(POLICIES[AWARE], jobs=(but(first, measured=False), *others))
    assert len(figures.rho_figure({AWARE: mixed}).data[0].x) == len(rho.data[0].x) - 1
    x, y = figures.steps([float(k) for k in range(10_000)], 100)
    assert len(x) == len(y) == 101
    assert (x[-1], y[-1]) == (9999.0, 100.0)


def test_the_gantt_has_a_bar_for_each_stay_and_hatches_pairs():
    both = figures.gantt_figure(figures.window(trace().stays, 0.0, 12 * ROUND_S, ""), NAMES)
    assert list(both.layout.yaxis.categoryarray) == ["v100 0", "k80 0"]
    shown = figures.window(trace().stays, ROUND_S, 5 * ROUND_S, "k80")
    made = figures.gantt_figure(shown, NAMES, ROUND_S)
    (bars,) = made.data
    assert list(bars.base) == pytest.approx([0.1, 0.4])
    assert list(bars.x) == pytest.approx([0.3, 0.1])
    assert list(bars.marker.pattern.shape) == ["", "/"]
    assert bars.customdata[0][0] == pytest.approx(2.5 * ROUND_S)
    assert "b with c" in bars.customdata[1][1]
    assert made.layout.shapes[0].x0 == pytest.approx(0.1)


def test_a_window_holds_what_a_chart_can_and_says_what_is_left_out():
    def stay(k, gpu, seconds):
        return GpuInterval(jobs=(k,), gpu="v100", gpus=(gpu,), start_s=float(k), end_s=k + seconds)

    many = [stay(k, k % 100, 1.0) for k in range(9000)]
    shown = figures.window(many, 0.0, 9000.0, "v100")
    assert len(shown.stays) == figures.MOST_BARS
    inside = sum(s.gpus[0] < figures.MOST_LANES for s in many)
    assert shown.left_out == inside - figures.MOST_BARS
    later = figures.window(many, 0.0, 9000.0, "v100", figures.MOST_LANES).stays
    assert {g for s in later for g in s.gpus} == set(range(figures.MOST_LANES, 2 * figures.MOST_LANES))
    assert figures.window(many, 0.0, 9000.0, "k80").stays == ()
    assert figures.fitting_span(many * 100, 9000.0) == 3600.0
    dense, month_s = [stay(k, 0, 0.5) for k in range(9000)], 30 * 86_400.0
    assert figures.fitting_span(dense[: figures.MOST_BARS], month_s) == month_s
    assert figures.fitting_span(dense[: figures.MOST_BARS + 1], month_s) < month_s


def test_rounds_are_drawn_and_heat_maps_show_what_was_planned_beside_what_was_received():
    rounds = trace().rounds
    assert [figures.round_at(rounds, t).number for t in (0.0, 359.0, 360.0, 1e9)] == [0, 0, 1, 5]
    assert figures.round_at(rounds, -1.0) is None
    made = figures.rounds_figure(rounds)
    assert list(made.data[0].y) == [2, 2, 2, 2, 3, 3]
    made = figures.allocation_figure(trace().received, sorted(TYPES), NAMES)
    planned, received = (t for t in made.data if t.type == "heatmap")
    assert [list(row) for row in planned.z] == [[0, 1.0], [0.7, 0], [0.3, 0]]
    assert [list(row) for row in received.z] == [[0, 1.0], [0.65, 0], [0.35, 0]]
    words = [list(t.text) for t in made.data if t.type == "scatter"]
    assert words[0] == ["", "1.00", "0.70", "", "0.30", ""]


def test_tables_have_the_columns_that_decide():
    rows = tables.policies(REPORT)
    assert rows.texts()[0]["mean JCT"] == "2 h ± 12 min"
    jobs = tables.jobs(POLICIES[AWARE].jobs)
    assert [r["JCT, h"] for r in jobs.texts()] == ["1", "2", "3"]
    assert "work lost" not in rows.headings
    lost = but(POLICIES[AWARE], lost_steps_share=0.01)
    deciding = tables.policies(but(REPORT, policies={AWARE: lost})).deciding
    assert deciding == (*rows.deciding, "work lost")
    assert jobs.deciding == ("job", "model", "GPUs", "arrival, h", "JCT, h", "ρ")
    told = tables.priorities(trace().rounds[0].priorities, NAMES).texts()
    wanted = [("k80", "b", "yes"), ("k80", "c", "no"), ("v100", "a", "yes")]
    assert [(r["type"], r["job"], r["ran"]) for r in told] == wanted


def test_one_more_gpu_is_judged_by_time_and_by_price():
    report = one_more()
    assert figures.one_more_finding(report) == (
        "One more v100 shortens the mean JCT under fifo most, by 66.7 min (40.0 %, to between 98.3 "
        "min and 102 min); per dollar, one more k80 saves the most."
    )
    assert [r["change"] for r in tables.one_more(report).texts()] == ["–", "-10.0 %", "-40.0 %"]
    dots = figures.one_more_dots(report)
    assert [d.value for d in dots] == pytest.approx([2.5, 6000 / 3600])
    worse = but(report, rows=tuple(but(r, mean_jct_s=2e4) for r in report.rows))
    assert figures.one_more_finding(worse) == "No extra GPU of any type shortens the mean JCT under fifo."


def test_the_trace_has_a_slice_for_each_gpu_of_a_stay():
    trace_file = traces.stays_trace(outcome())
    slices = [e for e in trace_file.events if e.ph == "X"]
    assert len(slices) == 2 * 3
    assert {e.name for e in slices} == {"a", "b", "b + c"}
    assert sum(e.dur or 0 for e in slices) == pytest.approx(2 * 12 * ROUND_S * 1e6)
    processes = {e.args["name"] for e in trace_file.events if e.args and e.name == "process_name"}
    assert processes == {f"{name}: {gpu}" for name in POLICIES for gpu in TYPES}
    threads = {(e.pid, e.tid) for e in trace_file.events if e.name == "thread_name"}
    assert {(e.pid, e.tid) for e in slices} <= threads
    assert trace_file.about.jobs[AWARE].shown == trace_file.about.jobs[AWARE].recorded == 3


def test_what_disturbed_teams_and_deadlines_are_told_where_there_are_some():
    assert not tables.disturbances(POLICIES)
    found = ExtensionFindings(failures=9, restart_s=2700, checkpoint_s=7200, move_s=90, undone_share=0.007)
    (row,) = tables.disturbances({AWARE: but(POLICIES[AWARE], extensions=found)}).texts()
    assert list(row.values()) == [AWARE, "9", "0.7 %", "45 min", "2 h", "90 s"]
    assert not tables.teams(POLICIES)
    jobs = [but(j, entity=t) for j, t in zip(POLICIES[AWARE].jobs, ("x", "x", "y"), strict=True)]
    teams = but(POLICIES[AWARE], jobs=tuple(jobs))
    rows = tables.teams({AWARE: teams}).texts()
    wanted = [("x", "2", "90 min", "$2.00"), ("y", "1", "3 h", "$1.00")]
    assert [(r["team"], r["jobs"], r["mean JCT"], r["cost"]) for r in rows] == wanted
    assert "team" in tables.jobs(jobs).deciding
