"""Scrapes of one server: rates, times by batch from unlike loads, bursts that explain its queue."""

import json
import re

import numpy as np
import pytest
from importing import asked, values

from nona.core.errors import DeploymentError
from nona.deployment.files import file_of
from nona.deployment.importing import import_files
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.workflows.preparation import prepare
from nona.scenario.lookup import Sources
from nona.scenario.opening import open_bytes


def scraped(counters, model="look"):
    """Scrapes from cumulated (seconds, requests, runs, compute in seconds, queue in seconds, inputs)."""
    files = []
    for at, done, runs, compute_s, queue_s, inputs in counters:
        rows = {
            "inference_count": inputs,
            "inference_request_success": done,
            "inference_exec_count": runs,
            "inference_queue_duration_us": queue_s * 1e6,
            "inference_compute_infer_duration_us": compute_s * 1e6,
        }
        text = "".join(f'nv_{name}{{model="{model}",version="1"}} {n:.6f}\n' for name, n in rows.items())
        files.append(file_of(f"at_{at}.prom", text.encode()))
    return files


def intervals(*loads, seconds=60, inputs=1, queue_s=0.0, first=(0, 50, 40, 1.0, 0.01, 50)):
    """Scrapes between which batches of sizes ran: (number of runs by size, seconds of a run by size)."""
    counters = [first]
    for runs_of, time_of in loads:
        at, done, runs, compute_s, waited_s, count = counters[-1]
        more = sum(size * n for size, n in runs_of.items())
        spent = sum(size * n * time_of(size) for size, n in runs_of.items())
        counters.append((
            at + seconds, done + more, runs + sum(runs_of.values()), compute_s + spent,
            waited_s + more * queue_s, count + more * inputs,
        ))  # fmt: skip
    return scraped(counters)


def line(step_ms, each_ms):
    return lambda size: (step_ms + each_ms * size) / 1000


GIVEN = {"servers.gpu": "l4", "look.slo": "none"}


def times_ms(found):
    """The times of the only task by batch, in ms."""
    opened = open_bytes(found.text.encode(), "s.yaml", Sources(None, in_memory=found.files)).scenario
    assert opened.workload[0].label == "look"
    (node,) = json.loads(found.files["look.json"])["nodes"]
    return {1: node["compute_ms"]} | {int(b): ms for b, ms in node.get("batch_ms", {}).items()}


@pytest.mark.parametrize(("step_ms", "each_ms"), [(3.0, 0.5), (0.2, 4.0), (12.0, 0.05)])
def test_scrapes_at_unlike_loads_give_time_by_batch(step_ms, each_ms):
    law = line(step_ms, each_ms)
    found = import_files(intervals(({2: 900}, law), ({6: 800}, law)), GIVEN)
    times = times_ms(found)
    assert {b: step_ms + each_ms * b for b in times} == pytest.approx(times, rel=1e-5)
    (what,) = [w for w in values(found.facts.assumed) if w.startswith("look: time by batch")]
    assert "lower bound" in what
    assert found.facts.asked == ()


def test_many_intervals_give_the_least_squares_and_the_busiest_load():
    law = line(2.0, 1.0)
    files = intervals(({1: 600}, law), ({4: 900}, law), ({2: 700}, law), ({8: 100}, law))
    found = import_files([files[i] for i in (3, 0, 4, 2, 1)], GIVEN)  # in any order
    assert times_ms(found) == pytest.approx({1: 3.0, 8: 10.0}, rel=1e-5)
    assert found.data["workload"][0]["rate"] == "60/s"  # 3,600 in 60 s


def test_mixed_batches_bend_the_line_by_what_mean_batches_are_too_low():
    """Means of requests see E[b²]/E[b], not E[b]; the time of a step at the batches that were seen holds."""
    law = line(4.0, 1.0)
    found = import_files(intervals(({1: 500, 3: 500}, law), ({4: 500, 12: 500}, law)), GIVEN)
    times = times_ms(found)
    each = (times[8] - times[1]) / 7
    assert each == pytest.approx(
        (10 - 2.5) / (8 - 2), rel=1e-5
    )  # by E[b²]/E[b] = 10 and 2.5, and E[b] = 8 and 2


@pytest.mark.parametrize(
    ("first", "second"),
    [(({3: 900}, line(2, 1)), ({3: 800, 4: 30}, line(2, 1))),  # alike
     (({2: 900}, line(6, 0)), ({6: 900}, line(5, 0)))],  # it falls
)  # fmt: skip
def test_the_time_is_asked_where_no_line_holds(first, second):
    found = import_files(intervals(first, second), GIVEN)
    assert asked(found) == {"look.time"}
    answered = import_files(intervals(first, second), GIVEN | {"look.time": "5 ms"})
    assert times_ms(answered)[1] == 5


def test_a_person_knows_better_than_a_line():
    law = line(3.0, 0.5)
    given = GIVEN | {"look.time": "1: 9 ms, 4: 11 ms"}
    assert times_ms(import_files(intervals(({2: 900}, law), ({6: 800}, law)), given)) == {1: 9.0, 4: 11.0}


def test_inputs_of_a_request_are_no_batch_of_requests():
    found = import_files(intervals(({2: 900}, line(3, 1)), inputs=8), GIVEN)
    read = values(found.facts.read)
    assert (read["look: inputs of a request"], read["look: mean batch"]) == ("8", "2")


def test_scrapes_of_several_servers_are_refused():
    law = line(3.0, 0.5)
    first, second, _ = intervals(({2: 900}, law), ({6: 800}, law))
    other = scraped([(120, 9000, 4000, 90.0, 9.0, 9000)], model="other")[0]
    with pytest.raises(DeploymentError, match=r"^at_\d+\.prom:1: it has no counter of at_\d+\.prom; give"):
        import_files([first, second, other])


def simulated(cv, service_ms, requests=4000, batching=None, replication=90):
    """Scrapes around so many requests of a pool whose gaps have this CV, as the product simulates it."""
    node = {"id": "look", "compute_ms": service_ms, "batch_ms": {"1": service_ms, "4": service_ms + 3}}
    graph = {"directed": True, "graph": {"device": "any"}, "nodes": [node], "edges": []}
    stage = {"instances": [{"group": 0, "count": 1}], "batching": batching or "off"}
    data = {
        "version": 1,
        "cluster": {"servers": [{"count": 1, "gpu": "l4", "gpus": 1, "vcpus": 16}]},
        "workload": [{"model": "look.json", "rate": "100/s", "stages": {"look": stage},
                      "arrivals": {"process": "gamma", "cv": cv}}],
    }  # fmt: skip
    sources = Sources(None, in_memory={"look.json": json.dumps(graph).encode()})
    system = prepare(open_bytes(json.dumps(data).encode(), "s.json", sources).scenario, sources).system
    scheduler = get_scheduler("local")
    options = RunOptions(jobs=requests, replication=replication)
    run = simulate_run(system, scheduler, scheduler.prepare(system, None, {}), options)
    wait_s = run.tally.parts_s[0, 3:].sum() / run.tally.completed[0]
    sizes = run.batch_sizes[0] if run.batch_sizes is not None else np.array([0, requests])
    runs_of = {size: int(n) for size, n in enumerate(sizes) if n}
    return runs_of, wait_s, float(run.window_s[1] - run.window_s[0])


def cv_of(found):
    """The CV that the scenario has, and the interval that its fact tells."""
    (what,) = [f.what for f in found.facts.assumed if f.key == "look.cv"]
    interval = re.search(
        r", ([\d.]+) to ([\d.]+): (bursts|even gaps) that explain your queue, not your", what
    )
    arrivals = found.data["workload"][0].get("arrivals", {"cv": 1})
    return arrivals["cv"], tuple(map(float, interval.groups()[:2])) if interval else None, what


@pytest.mark.parametrize("cv", [0.5, 2, 4])
def test_bursts_that_made_a_queue_are_found(cv):
    runs_of, wait_s, seconds = simulated(cv, 6.0)
    files = intervals((runs_of, line(6 - 0.001, 0.001)), queue_s=wait_s, seconds=round(seconds))
    found, interval, what = cv_of(import_files(files, GIVEN))
    assert interval[0] <= cv <= interval[1], what
    assert interval[0] <= found <= interval[1]
    assert ("bursts" in what) == (cv > 1)


def test_bursts_behind_a_queue_of_batches_are_found():
    batching = {"max_batch": 4, "rule": "triton"}
    runs_of, wait_s, seconds = simulated(3, 8.0, batching=batching)
    assert max(runs_of) == 4
    config = b"""name: "look" backend: "tensorrt" max_batch_size: 4
    dynamic_batching { } instance_group [ { count: 1 kind: KIND_GPU } ]
    """
    repository = file_of("models/look/config.pbtxt", config), file_of("models/look/1/model.plan", b"")
    scrapes = intervals((runs_of, line(7, 1)), queue_s=wait_s, seconds=round(seconds))
    found = import_files([*repository, *scrapes], GIVEN | {"look.time": "1: 8 ms, 4: 11 ms"})
    cv, interval, what = cv_of(found)
    assert interval[0] <= 3 <= interval[1], what
    assert interval[0] <= cv <= interval[1]


def test_case_19_of_the_reference_a_queue_of_8_ms_at_2_ms_and_100_per_second():
    files = intervals(({1: 6000}, line(1.999, 0.001)), queue_s=0.008)
    found, interval, _ = cv_of(import_files(files, GIVEN))
    assert found == pytest.approx(3.4, abs=0.2)
    assert interval[0] < 3.4 < interval[1]


@pytest.mark.parametrize("load", [0.3, 0.6])
def test_poisson_arrivals_explain_the_wait_of_pollaczek_and_khinchine(load):
    service_s = load / 100
    wait_s = load * service_s / (2 * (1 - load))
    files = intervals(({1: 6000}, line(1000 * service_s - 0.001, 0.001)), queue_s=wait_s)
    cv, interval, what = cv_of(import_files(files, GIVEN))
    assert (cv, interval) == (1, None)
    assert "Poisson arrivals explain its queue" in what


@pytest.mark.parametrize(
    ("queue_s", "service_ms", "why"),
    [(3.0, 2, "gaps of CV 10 wait"), (0.01, 12, "cannot serve this rate")],
)
def test_a_queue_that_no_bursts_explain_is_said_once(queue_s, service_ms, why):
    found = import_files(intervals(({1: 6000}, line(service_ms - 0.001, 0.001)), queue_s=queue_s), GIVEN)
    cv, interval, what = cv_of(found)
    assert (cv, interval) == (1, None)
    assert why in what


def test_a_queue_below_the_delay_of_its_batches_is_explained_by_nothing():
    config = b"""name: "look" backend: "tensorrt" max_batch_size: 4
    dynamic_batching { max_queue_delay_microseconds: 50000 } instance_group [ { count: 1 kind: KIND_GPU } ]
    """
    repository = file_of("models/look/config.pbtxt", config), file_of("models/look/1/model.plan", b"")
    scrapes = intervals(({1: 6000}, line(1.999, 0.001)), queue_s=0.001)
    assert (
        "its queue of 1 ms is not explained: even arrivals wait"
        in cv_of(import_files([*repository, *scrapes], GIVEN))[2]
    )
    slower = intervals(({1: 6000}, line(1.999, 0.001)), queue_s=0.017)
    assert "Poisson" in cv_of(import_files([*repository, *slower], GIVEN))[2]


def test_counters_that_grew_by_less_than_a_request_are_read():
    files = scraped([(0, 50, 40, 1.0, 0.01, 50), (60, 50.4, 40.4, 1.001, 0.02, 50.4)])
    assert "CV of the gaps" in cv_of(import_files(files, GIVEN))[2]


def test_a_person_who_knows_the_bursts_is_not_corrected():
    files = intervals(({1: 6000}, line(1.999, 0.001)), queue_s=0.008)
    found = import_files(files, GIVEN | {"look.cv": "2.5"})
    assert found.data["workload"][0]["arrivals"] == {"process": "gamma", "cv": 2.5}
    even = import_files(files, GIVEN | {"look.cv": "0"})
    assert even.data["workload"][0]["arrivals"] == {"process": "deterministic"}
    with pytest.raises(DeploymentError, match=r"^--set look\.cv: '-1' must be from 0 to 100; correct it\.$"):
        import_files(files, GIVEN | {"look.cv": "-1"})


def test_batches_without_a_rule_explain_no_queue():
    found = import_files(intervals(({3: 2000}, line(2, 1)), queue_s=0.008), GIVEN | {"look.time": "3 ms"})
    assert "no file says how its batches of 3 form" in cv_of(found)[2]


@pytest.mark.parametrize(
    ("served", "model", "rate"),
    [("llama-3.2-3b", "Llama-3.2-3B-Instruct", "3/s"), ("chat", "Llama-3.2-3B-Instruct", "3/s"),
     ("llama-3.2-3b", "Llama-3.1-70B-Instruct", None)],
)  # fmt: skip
def test_requests_are_of_an_engine_that_has_their_name_and_of_the_only_one_if_it_is_no_models(
    served, model, rate
):
    files = [file_of("start.sh", f"vllm serve meta-llama/{model} --tensor-parallel-size=4".encode())]
    for at, done in ((0, 0), (20, 60)):
        counts = {"request_success": done, "prompt_tokens": done * 200, "generation_tokens": done * 100}
        rows = [f'vllm:{name}_total{{model_name="{served}"}} {n}' for name, n in counts.items()]
        rows.append(
            f'vllm:cache_config_info{{model_name="{served}",block_size="16",num_gpu_blocks="4000"}} 1'
        )
        files.append(file_of(f"at_{at}.prom", "\n".join(rows).encode()))
    result = import_files(files, {})
    known = model.lower().removesuffix("-instruct")
    assumed, unused = values(result.facts.assumed), values(result.facts.not_used)
    assert assumed.get(f"{known}: traffic is as it was seen") == rate
    assert ("blocks: 4000" in result.text) == (rate is not None)
    assert (f"{served}: requests" in unused) == (f"{known}.rate" in asked(result)) == (rate is None)


def test_two_models_that_were_seen_under_names_of_their_own_keep_their_requests():
    names, files = {"chat": 60, "code": 120}, []
    for at in (0, 20):
        rows = [
            f'vllm:{what}_total{{model_name="{name}"}} {n * each * at // 20}'
            for name, n in names.items()
            for what, each in {"request_success": 1, "prompt_tokens": 200, "generation_tokens": 100}.items()
        ]
        files.append(file_of(f"at_{at}.prom", "\n".join(rows).encode()))
    assert {"chat.llm", "code.llm"} <= asked(import_files(files, {}))
    result = import_files(files, {"chat.llm": "llama-3.1-8b", "code.llm": "qwen2.5-7b"})
    assumed = values(result.facts.assumed)
    rates = {
        f"{model}: traffic is as it was seen": rate
        for model, rate in (("llama-3.1-8b", "3/s"), ("qwen2.5-7b", "6/s"))
    }
    assert rates.items() <= assumed.items()
    assert not any("requests" in what for what in values(result.facts.not_used))
