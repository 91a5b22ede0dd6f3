"""Arrival processes by their definition, draws that depend on names only, traces and windows of them."""

from itertools import islice

import numpy as np
import pytest
from simulation_cases import make_system, query, task_graph

from nona.core.errors import ScenarioError, SimulationError
from nona.core.random_streams import RandomStreams
from nona.queries.simulation.workload import Workload, background_items, gamma_draws, stream_names
from nona.queries.sweeps.numbers import number_named
from nona.queries.system import BackgroundStream
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.traffic import arrivals_of
from nona.scenario import traces
from nona.scenario.arrivals import Arrivals, arrival_chunks, effective_rate
from nona.scenario.file import dump_scenario, parse_scenario, scenario_from_mapping
from nona.scenario.lookup import Sources

RATE = 50.0


def times(arrivals, n=60_000, rate=RATE, replication=0):
    chunks = arrival_chunks(arrivals, rate, np.random.default_rng(5), replication)
    out = []
    while sum(map(len, out)) < n:
        out += islice(chunks, 1)
    return np.concatenate(out)[:n]


@pytest.mark.parametrize(
    ("arrivals", "cv"),
    [
        (Arrivals("poisson"), 1.0),
        (Arrivals("gamma", cv=0.5), 0.5),
        (Arrivals("gamma", cv=3.0), 3.0),
        (Arrivals("gamma", cv=0.0), 0.0),
        (Arrivals("deterministic"), 0.0),
    ],
)
def test_rate_and_cv_of_renewal_processes(arrivals, cv):
    gaps = np.diff(times(arrivals))
    assert (gaps >= 0).all()  # also from chunk to chunk
    error = max(cv, 1e-9) / len(gaps) ** 0.5
    assert abs(gaps.mean() * RATE - 1) < 5 * error
    assert gaps.std() / gaps.mean() == pytest.approx(cv, abs=0.05 * max(cv, 1e-6) + 1e-9)


def test_mmpp_rate_and_index_of_dispersion():
    """Counts of a two-state MMPP in a window w: Var/mean = 1 + 2 var τ (1 − (1 − e^(−w/τ)) τ/w) / rate."""
    burst = Arrivals("mmpp", burst_factor=3.0, burst_fraction=0.2, burst_mean_s=0.5)
    instants = times(burst, 400_000)
    assert (np.diff(instants) >= 0).all()
    span = instants[-1]
    tau = 1 / (1 / 0.5 + 1 / (0.5 * 0.8 / 0.2))
    low = RATE * (1 - 0.6) / 0.8
    variance = 0.2 * 0.8 * (3 * RATE - low) ** 2
    window = 4.0
    index = 1 + 2 * variance * tau * (1 - (1 - np.exp(-window / tau)) * tau / window) / RATE
    counts = np.bincount((instants / window).astype(int))[:-1]
    assert len(instants) / span == pytest.approx(RATE, rel=5 * (index / len(instants)) ** 0.5)
    assert counts.var() / counts.mean() == pytest.approx(index, rel=5 * (2 / len(counts)) ** 0.5)


def test_a_trace_keeps_its_own_time_or_is_scaled_goes_round_and_starts_elsewhere_in_other_replications():
    trace = Arrivals("trace", times_s=(10.0, 11.0, 13.0), scale_to_rate=False)
    assert effective_rate(trace, RATE) == pytest.approx(1 / 1.5)
    assert times(trace, 7) == pytest.approx([0, 1, 3, 4.5, 5.5, 7.5, 9.0])
    scaled = Arrivals("trace", times_s=(10.0, 11.0, 13.0))
    assert effective_rate(scaled, 2.0) == 2.0
    assert times(scaled, 4, rate=2.0) == pytest.approx([0, 1 / 3, 1, 1.5])
    trace = Arrivals("trace", times_s=tuple(float(i * i) for i in range(50)))
    gaps = np.diff(times(trace, 51))
    other = np.diff(times(trace, 51, replication=1))
    assert other != pytest.approx(gaps)
    assert sorted(other) == pytest.approx(sorted(gaps))


@pytest.mark.parametrize(
    ("arrivals", "rate", "what"),
    [
        (Arrivals("weibull"), 1.0, "weibull"),
        (Arrivals(), 0.0, "rate=0"),
        (Arrivals("gamma", cv=-1.0), 1.0, "cv=-1"),
        (Arrivals("mmpp", burst_factor=20.0), 1.0, "factor × fraction"),
        (Arrivals("trace"), 0.0, "no rate"),
        (Arrivals("trace", times_s=(2.0, 1.0)), 1.0, "increasing"),
        (Arrivals("trace", times_s=(1.0, 1.0), scale_to_rate=False), 1.0, "no rate"),
    ],
)
def test_impossible_arrivals(arrivals, rate, what):
    with pytest.raises(SimulationError, match=what) as error:
        next(arrival_chunks(arrivals, rate, np.random.default_rng(0)))
    assert "\n" not in str(error.value)


ONE = task_graph([1.0])
TWO = task_graph([1.0, 2.0])


def rows(*queries, uniforms=0, chunks=6):
    out = []
    for c in islice(Workload(make_system(*queries), 0, uniforms).chunks(), chunks):
        out += [(*row[:3], row[3].tolist()) for row in c.rows([len(q.tasks) for q in queries])]
    return out


def test_classes_are_merged_in_order_of_time_then_class_also_at_equal_instants():
    slow, fast = query(ONE, 1.0, name="slow"), query(ONE, 30.0, name="fast")
    merged = rows(slow, fast)
    keys = [(t, q) for t, q, _, _ in merged]
    assert keys == sorted(keys)
    share = np.mean([q == 0 for _, q in keys])
    assert share == pytest.approx(1 / 31, abs=5 * (1 / 31 / len(keys)) ** 0.5)
    grid = Arrivals("trace", times_s=(0.0, 0.0, 1.0), scale_to_rate=False)
    merged = rows(query(ONE, arrivals=grid, name="a"), query(ONE, arrivals=grid, name="b"))
    assert [q for t, q, _, _ in merged if t == 0] == [0, 0, 1, 1]


def test_draws_of_a_class_do_not_change_when_another_joins_and_streams_have_names_of_their_own():
    assert stream_names(tuple(query(ONE, name=n) for n in ("a", "b", "a"))) == ("a", "b", "a#1")
    a, b = query(TWO, 2.0, scv=0.5, name="a"), query(TWO, 5.0, scv=2.0, name="b")
    alone, together = rows(a), [r for r in rows(b, a) if r[1] == 1]
    n = min(len(alone), len(together))
    assert n > 500
    assert [(r[0], r[2]) for r in alone[:n]] == [(r[0], r[2]) for r in together[:n]]


def test_chunks_hold_the_multipliers_of_their_jobs_and_nothing_else():
    a, b = query(TWO, 2.0, scv=0.5, name="a"), query(ONE, 5.0, name="b")
    chunk = next(Workload(make_system(a, b), 0).chunks())
    drawn = chunk.query == 0
    assert (chunk.offsets[~drawn] == -1).all()
    assert np.array_equal(np.sort(chunk.offsets[drawn]), np.arange(0, len(chunk.services), 2))
    assert len(chunk.services) == 2 * drawn.sum() > 0


def test_uniforms_of_a_job_do_not_depend_on_how_many_are_used():
    q = query(ONE, 1.0)
    few, many = rows(q, uniforms=3), rows(q, uniforms=40)
    assert [r[3] for r in few] == [r[3][:3] for r in many]
    assert np.mean([r[3] for r in many]) == pytest.approx(0.5, abs=0.005)


def test_services_have_mean_one_and_the_scv():
    services = np.array([r[2] for r in rows(query(TWO, 1.0, scv=0.5), chunks=40)])
    assert services.shape[1] == 2
    assert services.mean() == pytest.approx(1, abs=5 * (0.5 / services.size) ** 0.5)
    assert services.var() == pytest.approx(0.5, rel=0.05)
    assert rows(query(TWO, 1.0))[0][2] is None


@pytest.mark.parametrize("scv", [0.0, 0.3, 1.0, 4.0])
def test_background_has_its_rate_and_moments(scv):
    stream = BackgroundStream(rate=20.0, mean=3.0, scv=scv)
    items = np.array(list(islice(background_items(stream, RandomStreams(1), "x"), 50_000)))
    assert len(items) / items[-1, 0] == pytest.approx(20.0, rel=0.025)
    assert items[:, 1].mean() == pytest.approx(3.0, rel=5 * (scv / len(items)) ** 0.5 + 1e-12)
    assert items[:, 1].var() == pytest.approx(9.0 * scv, rel=0.1, abs=1e-12)
    assert gamma_draws(np.random.default_rng(0), scv, 3).shape == (3,)
    assert list(background_items(BackgroundStream(), RandomStreams(1), "x")) == []


def test_a_class_without_rate_never_arrives_and_all_without_or_a_negative_scv_are_errors():
    assert {q for _, q, _, _ in rows(query(ONE, 0.0, name="never"), query(ONE, 1.0))} == {1}
    with pytest.raises(SimulationError, match="no query class has a rate"):
        Workload(make_system(query(ONE, 0.0)), 0)
    with pytest.raises(SimulationError, match="service_scv=-1"):
        Workload(make_system(query(ONE, 1.0, scv=-1.0)), 0)


LLM = b"TIMESTAMP,ContextTokens,GeneratedTokens\r\n"


@pytest.mark.parametrize(
    ("rows", "seconds"),
    [
        (  # seven decimals, out of order, no zone, and no newline at the end
            b"2023-11-16 18:17:03.9799600,48,1\r\n2023-11-16 18:17:04.0319601,31,8\r\n"
            b"2023-11-16 18:17:04.0319600,1,2",
            [0.0, 0.052, 0.0520001],
        ),
        (  # zones, and whole seconds among others
            b"2024-05-12 00:00:00+00:00,1,2\n2024-05-10 00:00:00.009930+00:00,1,2\n",
            [0.0, 2 * 86400 - 0.00993],
        ),
    ],
)
def test_traces_of_language_models(rows, seconds):
    assert traces.read_trace(LLM + rows, "code.csv") == pytest.approx(seconds, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:01Z", 1.0),
        ("1970-01-01 01:00:00.5+01:00", 0.5),
        ("1969-12-31 23:00:00-0100", 0.0),
        ("-1.25", -1.25),
        ("1e3", 1000.0),
    ],
)
def test_times_in_all_notations(text, seconds):
    assert sum(traces.parse_time(text)) == seconds


MOONCAKE = b'{"timestamp": %d, "input_length": 6755, "output_length": 500, "hash_ids": [0, 1]}\n'
GUIDELLM = (
    b'{"benchmarks": [{"requests": {"successful": [{"request_start_time": 1700000002.5}]'
    b', "incomplete": [{"request_start_time": null}], "errored": [{"request_start_time": 1700000001.0}]}},'
    b'{"requests": {"successful": [{"start_time": 1700000004.0}], "total": null}}]}'
)


@pytest.mark.parametrize(
    ("data", "instants"),
    [
        (b"1.5\n3\n2\n", [0, 0.5, 1.5]),
        (b"time_s\n1.5\n\n3\n2\n", [0, 0.5, 1.5]),
        (b"\xef\xbb\xbft,x\n1.5,a\n3,b\n2,c", [0, 0.5, 1.5]),
        (b"1e0\r\n2.5\r\n1.5\r\n", [0, 0.5, 1.5]),
        (b"2023-01-01 00:00:00\n2023-01-01T00:00:01.5\n2023-01-01 00:00:00.5", [0, 0.5, 1.5]),
        (b"request_id,arrival_timestamp,prompt_size\n0,0.25,522\n1,1.5,734\n", [0, 1.25]),
        (b"id,arrival_ms,finish_ms\n1,500,9\n2,2500,9\n", [0, 2]),
        (b"id,ArrivalTimeUs\n1,500\n2,2500\n", [0, 0.002]),
        (b"time (ns)\n1700000000000000000\n1700000003000000000\n", [0, 3]),
        (b"start_min,tokens\n1,9\n3,9\n", [0, 120]),
        (b"timestamp,arrival_ms\n1,100\n5,300\n", [0, 0.2]),  # arrivals tell more than time stamps
        (b"submit_time,start_time,end_time\n1,10,20\n3,10,20\n", [0, 2]),
        (b"arrival_ms\n2023-01-01 00:00:00\n2023-01-01 00:00:02\n", [0, 2]),  # dates have their own unit
        (b"3,2023-01-01 00:00:00\n4,2023-01-01 00:00:02\n", [0, 2]),
        (b"Timestamp,Model,Request tokens,Log Type\n5,ChatGPT,472,API log\n45,GPT-4,1,API log\n", [0, 40]),
        (MOONCAKE % 0 + MOONCAKE % 3052, [0, 3.052]),
        (b'\xef\xbb\xbf [{"timestamp": 3, "id": 4}, {"timestamp": 5}]', [0, 2]),
        (b'{"timestamp": 3, "input_length": 4}\r\n\r\n{"input_length": 4, "timestamp": 5}\r\n', [0, 2]),
        (GUIDELLM, [0, 1.5, 3]),
    ],
)
def test_layouts_of_a_trace(data, instants):
    assert traces.read_trace(data, "t") == pytest.approx(instants, abs=1e-6)


def test_the_requests_of_one_benchmark_of_a_report():
    assert traces.trace_columns(GUIDELLM, "r.json") == {"benchmark": ("benchmark 1", "benchmark 2")}
    assert traces.read_trace(GUIDELLM, "r.json", ("benchmark", "benchmark 2")).tolist() == [3]
    own = b"tick,response_time\n0,9\n250,8\n"
    assert traces.read_trace(own, "t.csv", None, ("tick", "ms")).tolist() == [0, 0.25]


FUNCTIONS = (
    b"HashOwner,HashApp,HashFunction,Trigger,1,2,3\n"
    b"o,a,f,http,2,0,1\n"
    b"o,a,g,timer,0,3,\n"  # a missing count is none
)


def test_minute_counts_of_all_functions_and_of_one():
    times = traces.read_trace(FUNCTIONS, "day.csv")
    assert np.bincount((times // 60).astype(int)).tolist() == [2, 3, 1]
    assert (np.diff(times) >= 0).all()
    assert times.tolist() == traces.read_azure_functions(FUNCTIONS, "day.csv").tolist()
    of_one = ("HashFunction", "g")
    times = traces.read_azure_functions(FUNCTIONS, "day.csv", of_one)
    assert (times // 60).tolist() == [1.0, 1.0, 1.0]
    from_0 = FUNCTIONS.replace(b"1,2,3", b"0,1,2", 1)
    assert times.tolist() == traces.read_azure_functions(from_0, "day.csv", of_one).tolist()


def test_uniform_within_the_minute():
    times = traces.spread_counts(np.array([0, 20_000]), np.random.default_rng(3))
    assert times.min() >= 60
    assert times.max() < 120
    assert times.mean() == pytest.approx(90, abs=5 * 60 / 12**0.5 / 20_000**0.5)


NO_TIMES = (
    *(b"request_id\n1\n", b"num_prefill_tokens,num_decode_tokens\n5,3\n", b"run_time\n3\n", b"end_time\n3\n"),
    *(b"id,inter_arrival_ms\n1,2\n", b"gap_s\n2\n", b"arrival_rate\n2\n", b"time_between_arrivals\n2\n"),
    *(b"arrival_time_s,arrival_time_ms\n1,1000\n", b"queue_start,response_time\n1,2\n", b"anything\n1\n"),
)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "no arrivals"),
        (b"time\n", "no arrivals"),
        (b"1\nx\n", "line 2: 'x'"),
        (b"1\nnan\n", "'nan'"),
        (b"1\ninf\n", "'inf'"),
        (b"\xff\xfe1\x00", "UTF-8"),
        (b"2023-13-01 00:00:00\n", "2023-13-01"),
        (b"TIMESTAMP,A\n,1\n", "line 2: ''"),
        *((name, "no single column") for name in NO_TIMES),
        (b"7,0.5\n8,0.7\n", "2 columns and no header"),
        (b"arrival\n1700000000000\n", "too far from 1970"),  # milliseconds that do not say so
        (b'{"time": 3}\n{"time": 4\n', "line 2: it begins as JSON"),
        (b'{"time": 3}\n{"at": 4}\n', "line 2: ''"),
        (b"[1, 2]", "'1' is no object"),
        (b"{}", "'{}' is no object with values"),
        (b"[" * 99_999, "begins as JSON"),
        (b'{"benchmarks": [{"requests": null}]}', "no arrivals"),
        (b"a,HashFunction,1\no,f,-3\n", "'-3' of minute 1"),
        (b"a,HashFunction,1\no,f,1.5\n", "'1.5'"),
        (b"a,HashFunction,1\no,f,0\n", "0 arrivals"),
        (b"a,HashFunction,1\no,f,999999999\n", "999999999 arrivals"),
        (b"a,HashFunction,Trigger\no,f,1\n", "minutes 1, 2"),
        (b'1\n"open\n', "line"),
    ],
)
def test_bad_traces_give_one_line(data, what):
    with pytest.raises(SimulationError, match=what) as error:
        traces.read_trace(data, "bad.csv")
    assert "\n" not in str(error.value)


def test_a_file_that_counts_no_minutes_is_refused_as_an_azure_functions_trace():
    with pytest.raises(SimulationError, match="header"):
        traces.read_azure_functions(b"1\n2\n", "t.csv")


RNG = np.random.default_rng(5)
TIMES = np.sort(RNG.random(3000)) * 600 + 100
NAMES = RNG.choice(["a", "b"], 3000, p=[0.7, 0.3])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("traces")
    rows = "".join(f"{t:.6f},{n}\n" for t, n in zip(TIMES, NAMES, strict=True))
    (place / "t.csv").write_text("time,model\n" + rows)
    return place


def scenario(*arrivals, scaled=False):
    usual = {"process": "trace", "trace": "t.csv", "scale_to_rate": scaled}
    row = {"model": "slides_example", "rate": 1}
    rows = [row | {"name": name, "arrivals": usual | a} for name, a in zip("abc", arrivals, strict=False)]
    return scenario_from_mapping({"version": 1, "cluster": {"servers": [{}]}, "workload": rows})


def test_a_file_without_the_new_keys_means_what_it_meant(folder):
    first, second = (arrivals_of(scenario({}, {}, scaled=s), 1, Sources(folder)) for s in (True, False))
    relative = tuple((TIMES.round(6) - TIMES.round(6)[0]).tolist())
    assert first.times_s == pytest.approx(relative, abs=1e-9)
    assert (first.period_s, first.trace, second.period_s) == (0.0, "", 0.0)
    assert effective_rate(first, 7.0) == 7.0
    query = prepare(scenario({}), Sources(folder)).system.queries[0]
    assert query.rate == pytest.approx(5.0, rel=0.01), "placements saw the row's rate, which nothing had"


def test_a_window_is_replayed_again_and_again(folder):
    made = arrivals_of(scenario({"start": "60 s", "length": "2 min"}), 0, Sources(folder))
    inside = TIMES[(TIMES[0] + 60 <= TIMES) & (TIMES[0] + 180 > TIMES)] - TIMES[0] - 60
    assert made.times_s == pytest.approx(inside.tolist(), abs=2e-6)
    assert made.period_s == 120
    rng = np.random.default_rng(0)
    found = np.concatenate(list(islice(arrival_chunks(made, 1.0, rng), 4)))
    assert found[: len(inside)] == pytest.approx(inside, abs=2e-6)
    assert found[len(inside)] == pytest.approx(inside[0] + 120, abs=2e-6)
    later = next(arrival_chunks(made, 1.0, rng, replication=1))
    assert (np.diff(later) >= 0).all()
    assert later[-1] < 2 * 120
    assert effective_rate(made, 1.0) == pytest.approx(len(inside) / 120)


def test_beyond_the_end_of_a_trace_nothing_arrives_until_the_window_begins_again(folder):
    made = arrivals_of(scenario({"length": "12 h"}), 0, Sources(folder))
    assert (len(made.times_s), made.period_s) == (len(TIMES), 12 * 3600)
    assert effective_rate(made, 1.0) == pytest.approx(len(TIMES) / (12 * 3600))


def test_a_factor_on_the_load_speeds_a_trace_up(folder):
    for part in ({}, {"start": "60 s", "length": "2 min"}):
        slow = scenario(part)
        fast = number_named(slow, "load").with_value(slow, 2.0)
        one, two = (arrivals_of(s, 0, Sources(folder)) for s in (slow, fast))
        assert effective_rate(two, 1.0) == pytest.approx(2 * effective_rate(one, 1.0))
        assert two.times_s == pytest.approx([t / 2 for t in one.times_s])


def test_shares_divide_a_trace_and_take_no_arrival_twice(folder):
    shared = scenario({"share": "50 %"}, {"share": 0.3}, {"share": 0.2})
    parts = [arrivals_of(shared, i, Sources(folder)).times_s for i in range(3)]
    assert sorted(t for p in parts for t in p) == pytest.approx((TIMES - TIMES[0]).tolist(), abs=2e-6)
    assert [len(p) / 3000 for p in parts] == pytest.approx([0.5, 0.3, 0.2], abs=0.03)


def test_a_column_names_the_row(folder):
    divided = scenario({"column": "model"}, {"column": "model", "value": "b"})
    for i, name in enumerate("ab"):
        made = arrivals_of(divided, i, Sources(folder))
        assert made.times_s == pytest.approx((TIMES[name == NAMES] - TIMES[0]).tolist(), abs=2e-6)


def test_rows_of_one_trace_stay_in_step_in_every_run(folder):
    prepared = prepare(scenario({"column": "model"}, {"column": "model"}), Sources(folder))
    every = np.diff(np.sort((TIMES - TIMES[0]).round(5)))
    for replication in (0, 1):
        chunks = islice(Workload(prepared.system, replication).chunks(), 3)
        gaps = np.diff(np.concatenate([c.arrival_s for c in chunks])[:1500])
        at = int(np.argmin([np.abs(every[k : k + 50] - gaps[:50]).sum() for k in range(2900)]))
        assert every[at : at + 50] == pytest.approx(gaps[:50], abs=1e-4), "gaps of the whole trace, in order"


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ([{"share": 0.7}, {"share": 0.7}], "add up to 1.4"),
        ([{"share": 0.7, "column": "model"}], "give one of them"),
        ([{"value": "a"}], "give one of them"),
        ([{"process": "poisson", "trace": None, "length": "5 s"}], "give a trace"),
        ([{"share": 0}], "share"),
        ([{"length": "5 apples"}], "length"),
    ],
)
def test_impossible_parts_are_refused_with_their_place(keys, why):
    with pytest.raises(ScenarioError, match=why):
        scenario(*keys)


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"start": "1 h"}, "start earlier"),
        ({"column": "modell"}, "choose one of its header: time, model"),
        ({"column": "model", "value": "c"}, "no arrival with 'c' in column 'model'"),
    ],
)
def test_parts_that_the_trace_does_not_have_are_named(folder, keys, why):
    with pytest.raises(SimulationError, match=why):
        arrivals_of(scenario(keys), 0, Sources(folder))


def test_the_keys_are_written_and_read_back():
    made = scenario({"start": "60 s", "length": "2 min", "share": 0.25}, {"column": "model", "value": "b"})
    assert parse_scenario(dump_scenario(made)) == made
