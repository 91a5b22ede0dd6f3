"""Scrapes of one server: rates, times by batch from unlike loads, bursts that explain its queue."""

import json

import pytest
from importing import asked, values

from nona.core.errors import DeploymentError
from nona.deployment.files import file_of
from nona.deployment.importing import import_files
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
