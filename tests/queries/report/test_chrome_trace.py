"""The Chrome trace: schema, times, no overlaps, conservation of busy time, arrows, counters, the cap."""

import json
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import nona
from nona.core.chrome_trace import ChromeTrace, trace_text
from nona.queries.report.timeline import chrome_trace
from tests.core.filled import changed


def simulated(name, *schedulers, discipline="fifo"):
    effort = {"jobs": 60, "replications": 1, "warmup": 20}
    cluster = changed(name).model_dump(mode="json")["cluster"]
    cluster["network"]["discipline"] = discipline
    prepared = nona.prepare(changed(name, cluster=cluster, simulation=effort, schedulers=schedulers))
    result = nona.simulate(prepared, engine="simpy", timeline_jobs=12)
    return dict(result.records), prepared.system


@pytest.fixture(scope="module")
def run():
    return simulated("slides_example", "spread", "local")


@pytest.fixture(scope="module")
def shared():
    return simulated("rag_pipeline", "spread", discipline="processor-sharing")


def written(*run, **options):
    """The trace as its file has it."""
    return json.loads(trace_text(chrome_trace(*run, **options)))


def of(trace, phase):
    return [e for e in trace["traceEvents"] if e["ph"] == phase]


def test_the_file_is_json_with_one_event_per_line(run):
    trace = chrome_trace(*run, "the <slides>")
    text = trace_text(trace)
    assert ChromeTrace.from_json(json.loads(text)) == trace
    assert len(text.splitlines()) == len(trace.events) + 2
    assert trace.about.scenario == "the <slides>"
    assert trace_text(chrome_trace(*run, "the <slides>")) == text


def test_every_event_has_what_its_phase_needs(run):
    needs = {
        "X": {"name", "cat", "pid", "tid", "ts", "dur", "args"},
        "M": {"name", "pid", "tid", "args"},
        "C": {"name", "pid", "ts", "args"},
        "s": {"name", "cat", "id", "pid", "tid", "ts"},
        "f": {"name", "cat", "id", "pid", "tid", "ts", "bp"},
    }
    trace = written(*run)
    assert {e["ph"] for e in trace["traceEvents"]} == set(needs)
    for event in trace["traceEvents"]:
        assert event.keys() - {"ph"} == needs[event["ph"]]
        assert isinstance(event["pid"], int)
        assert min(event.get("ts", 0), event.get("dur", 0)) >= 0
    named = {e["pid"] for e in of(trace, "M") if e["name"] == "process_name"}
    assert {e["pid"] for e in trace["traceEvents"]} == named
    threads = {(e["pid"], e["tid"]) for e in of(trace, "M") if e["name"] == "thread_name"}
    assert {(e["pid"], e["tid"]) for e in of(trace, "X")} == threads


@pytest.mark.parametrize("which", ["run", "shared"])
def test_slices_of_a_thread_do_not_overlap(which, request):
    trace = written(*request.getfixturevalue(which))
    lanes = defaultdict(list)
    for e in of(trace, "X"):
        start = round(e["ts"] * 1000)
        lanes[e["pid"], e["tid"]].append((start, start + round(e["dur"] * 1000)))
    for spans in lanes.values():
        ordered = sorted(spans)
        assert all(a[1] <= b[0] for a, b in pairwise(ordered))
    if which == "shared":  # otherwise the case proves nothing about lanes
        assert any("lane 2" in e["args"].get("name", "") for e in of(trace, "M"))


def test_busy_time_and_instants_come_back(run):
    runs, system = run
    trace = written(runs, system)
    titles = {e["pid"]: e["args"]["name"] for e in of(trace, "M") if e["name"] == "process_name"}
    for name, records in runs.items():
        timeline = records[0].timeline
        begin = min(t.ready_s for t in timeline.tasks)
        expected = defaultdict(float)
        for t in timeline.tasks:
            process = f"{name} · server {system.executor_server[t.executor]}"
            expected[process, t.executor] += t.end_s - t.start_s
        found = defaultdict(float)
        own = [e for e in of(trace, "X") if titles[e["pid"]].startswith(f"{name} · ")]
        tasks = [e for e in own if e["cat"] == "task"]
        for e in tasks:
            found[titles[e["pid"]], e["tid"] - 1] += e["dur"] / 1e6
        assert found == pytest.approx(expected, abs=1e-9 * len(timeline.tasks))
        starts = sorted(t.start_s - begin for t in timeline.tasks)
        assert sorted(e["ts"] / 1e6 for e in tasks) == pytest.approx(starts, abs=1e-9)
        sent = sorted((m.start_s - begin, m.end_s - begin) for m in timeline.messages)
        got = sorted((e["ts"] / 1e6, (e["ts"] + e["dur"]) / 1e6) for e in own if e["cat"] == "message")
        assert np.array(got) == pytest.approx(np.array(sent), abs=2e-9)


def test_arrows_leave_and_reach_slices(run):
    trace = written(*run)
    begins, ends = {e["id"]: e for e in of(trace, "s")}, {e["id"]: e for e in of(trace, "f")}
    assert begins.keys() == ends.keys()
    messages = [e for e in of(trace, "X") if e["cat"] == "message"]
    assert len(begins) >= 2 * len(messages) > 0  # into each message, and out of it
    for number, begin in begins.items():
        assert begin["ts"] <= ends[number]["ts"]
        for end in (begin, ends[number]):
            place = [e for e in of(trace, "X") if (e["pid"], e["tid"]) == (end["pid"], end["tid"])]
            around = [e for e in place if e["ts"] <= end["ts"] <= e["ts"] + e["dur"]]
            assert around
    kind = {(e["pid"], e["tid"]): e["cat"] for e in of(trace, "X")}
    kinds = {tuple(kind[e["pid"], e["tid"]] for e in (b, ends[n])) for n, b in begins.items()}
    assert kinds == {("task", "message"), ("message", "task")}


def test_counters_start_above_zero_and_end_at_zero(run):
    runs, system = run
    trace = written(runs, system)
    levels = defaultdict(list)
    for e in of(trace, "C"):
        levels[e["pid"], e["name"]].append((e["ts"], next(iter(e["args"].values()))))
    assert {name for _, name in levels} >= {"tasks waiting", "messages waiting", "bytes waiting"}
    for steps in levels.values():
        assert steps == sorted(steps)
        assert min(v for _, v in steps) >= 0
        assert steps[-1][1] == 0
    for name, records in runs.items():
        timeline = records[0].timeline
        waited = sum(m.start_s - m.request_s for m in timeline.messages)
        pids = [e["pid"] for e in of(trace, "M") if e["args"].get("name") == f"{name} · network"]
        steps = levels.get((pids[0], "messages waiting"), [])
        area = sum(v * (b - a) / 1e6 for (a, v), (b, _) in pairwise(steps))
        assert area == pytest.approx(waited, abs=1e-6), name


def test_too_many_events_leave_out_whole_jobs_from_the_end_and_without_a_timeline_there_are_none(run):
    whole, cut = written(*run), written(*run, most=200)
    assert len(cut["traceEvents"]) <= 200 < len(whole["traceEvents"])
    for name in ("spread", "local"):
        told, full = cut["otherData"]["jobs"][name], whole["otherData"]["jobs"][name]
        assert full["shown"] == full["recorded"] == told["recorded"]
        assert 1 <= told["shown"] <= told["recorded"]
    assert cut["otherData"]["jobs"]["spread"]["shown"] < 12
    jobs = sorted({e["args"]["job"] for e in of(cut, "X")})
    assert jobs == sorted({e["args"]["job"] for e in of(whole, "X")})[: len(jobs)]
    assert written(*run, most=1)["otherData"]["jobs"]["spread"]["shown"] == 1
    runs, system = run
    bare = {n: (replace(r[0], timeline=None),) for n, r in runs.items()}
    assert written(bare, system)["traceEvents"] == []
