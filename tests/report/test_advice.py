"""Advice on schedulers: for every outcome of a comparison what is said follows from its numbers."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t
from simulation_rows import around, difference, parts, scheduler
from sizes import examples

from nona.report.simulations.advice import scheduler_advice, views_text
from nona.results.simulation import Difference, Resources, SchedulerResult
from nona.schedulers.registry import SCHEDULERS

FAR = "slower"


def made(compute: float, transfer: float, link: float, server: float) -> SchedulerResult:
    """A scheduler whose mean is the sum of these parts, in milliseconds."""
    mean = (compute + transfer + link + server) / 1e3
    row = scheduler(mean)
    return row.model_copy(update={"parts_s": parts(*(v / 1e3 for v in (compute, transfer, link, server)))})


def apart(found: dict[str, SchedulerResult], best: str) -> dict[str, dict[str, Difference]]:
    """Everything is clearly slower than the best."""
    return {best: {n: difference(0.01, 0.5, FAR) for n in found if n != best}}


def test_who_wins_what_it_sees_and_where_the_time_went() -> None:
    found = {"spark-fair": made(5, 1, 0, 1), "local": made(5, 0, 0, 21), "nona": made(5, 0.5, 0.5, 10)}
    advice = scheduler_advice(found, apart(found, "spark-fair"))
    assert advice is not None
    assert advice.why == (
        "spark-fair wins: it reads queues, which local does not, and both see nothing of the network; under "
        "local, a job waits 20 ms longer for servers, and 1 ms less passes in the other parts."
    )
    assert advice.otherwise == (
        "If no time went into waiting for servers (towards it: more servers or lower rates), local would "
        "lead by 1 ms, all other parts unchanged."
    )


def test_no_remedy_is_named_where_none_would_do() -> None:
    found = {"nona": made(5, 0, 0, 1), "local": made(9, 0, 0, 1)}
    advice = scheduler_advice(found, apart(found, "nona"))
    assert advice is not None
    assert "tasks compute for 4 ms more of a job, which is 100 % of the difference" in advice.why
    assert advice.otherwise.startswith("No single remedy lets another win: local, the next, is 4 ms behind")


def test_without_a_clear_difference_nobody_wins() -> None:
    found = {"nona": scheduler(0.010), "local": scheduler(0.0105)}
    close = difference(0.0005, 0.05, "not told apart")
    advice = scheduler_advice(found, {"nona": {"local": close}})
    assert advice is not None
    assert advice.why.startswith(
        "No winner: nona has the lowest mean, but this run cannot tell it from local"
    )
    spread = math.sqrt(5) / float(t.ppf(0.975, 4))  # of one difference, in half-widths of five
    halves = {n: float(t.ppf(0.975, n - 1)) * spread / math.sqrt(n) for n in range(6, 30)}
    least = min(n for n, half in halves.items() if half <= 0.5)  # the mean is half a half-width
    assert f"about {least} replications would show it; this run has 5" in advice.otherwise
    tiny = close.model_copy(update={"jct_s": around(1e-6, 0.001)})
    advice = scheduler_advice(found, {"nona": {"local": tiny}})
    assert advice is not None
    assert "too little to matter" in advice.otherwise
    same = close.model_copy(update={"jct_s": around(0.0, 0.0)})
    advice = scheduler_advice(found, {"nona": {"local": same}})
    assert advice is not None
    assert advice.why.startswith("No winner: nona and local take exactly as long on the same jobs;")
    assert advice.otherwise == ""
    found["expert"] = found["local"]
    advice = scheduler_advice(found, {"nona": {"local": same, "expert": same}})
    assert advice is not None
    assert advice.why.startswith("No winner: nona, local and expert take exactly as long")


def test_waits_for_own_tasks_are_no_reason_for_more_servers() -> None:
    apart_only = made(5, 0, 0, 1).model_copy(
        update={"parts_s": parts(0.005, 0.0, 0.0, 0.001, 0.02), "jct_s": scheduler(0.026).jct_s}
    )
    found = {"spark-fair": made(5, 1, 0, 1), "local": apart_only}
    advice = scheduler_advice(found, apart(found, "spark-fair"))
    assert advice is not None
    assert "a job waits 20 ms longer for tasks of its own on the same executor" in advice.why
    assert advice.otherwise.startswith(
        "If no time went into waiting for tasks of its own (towards it: splitting it over more executors), "
        "local would lead by 1 ms"
    )
    same = difference(0.0, 0.0, "not told apart").model_copy(update={"jct_s": around(0.0, 0.0)})
    advice = scheduler_advice({"nona": apart_only, "local": apart_only}, {"nona": {"local": same}})
    assert advice is not None
    assert advice.why.endswith("77 % of the time is waiting for tasks of its own.")
    assert advice.otherwise.startswith("For 20 ms a job waits for tasks of its own on the same executor")


def test_overloaded_schedulers_and_a_single_one() -> None:
    over = scheduler(None, "overloaded", offered=Resources(compute=0.5, network=1.25))
    worse = scheduler(None, "overloaded", offered=Resources(compute=1.6, network=0.2))
    advice = scheduler_advice({"local": worse, "spread": over}, {})
    assert advice is not None
    assert advice.why.startswith("No scheduler wins: 2 schedulers ran")
    assert advice.otherwise == "spread is nearest to one: its link is offered 125 % of capacity."
    advice = scheduler_advice({"nona": made(5, 0, 0, 1), "local": worse}, {})
    assert advice is not None
    assert advice.why.startswith("Only nona has a steady state")
    assert "its executors are offered 160 % of capacity" in advice.otherwise
    advice = scheduler_advice({"nona": made(5, 0, 0, 1)}, {})
    assert advice is not None
    assert advice.lines == ("nona ran alone: 83 % of its jobs' time is computing.", advice.otherwise)


@pytest.mark.parametrize("other", sorted(SCHEDULERS))
@pytest.mark.parametrize("best", sorted(SCHEDULERS))
def test_what_is_said_of_views_is_what_is_declared(best: str, other: str) -> None:
    told, mine, its = views_text(best, other), SCHEDULERS.find(best), SCHEDULERS.find(other)
    reads = [s.reads_queues or s.kind == "pick" for s in (mine, its)]
    assert ("it reads queues" in told) is reads[0]
    assert ("neither reads queues" in told) <= (not any(reads))
    if any(reads) and reads[0] != reads[1] and reads[0]:
        assert f"which {other} does not" in told
    assert ("both see" in told) is (mine.network_view == its.network_view)


@examples(200)
@given(st.lists(st.tuples(*[st.floats(0.01, 50.0)] * 4), min_size=2, max_size=5))
def test_what_would_let_another_win_is_true(rows: list[tuple[float, float, float, float]]) -> None:
    """Whatever the parts: a lead that is promised is there when the named part is taken from both."""
    found = {f"s{k}": made(*row) for k, row in enumerate(rows)}
    best = min(found, key=lambda n: found[n].jct_s.mean or 0.0)
    advice = scheduler_advice(found, apart(found, best))
    assert advice is not None
    told = re.match(r"If no time went into (.+?) \(.*\), (s\d) would lead", advice.otherwise)
    cut = {"waiting for links": 2, "waiting for servers": 3, "transfers": 1}

    def without(name: str, part: int) -> float:
        row = rows[int(name[1:])]
        return sum(row) - row[part]

    if told:
        part = cut[told.group(1)]
        assert without(told.group(2), part) < without(best, part)
    else:
        name = advice.otherwise.split(": ")[1].split(",")[0]
        assert all(without(best, part) <= without(name, part) + 1e-9 for part in cut.values())
