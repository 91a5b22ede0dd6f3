"""The simulation against queueing theory, on the systems that the Validation page shows.

The confidence level is 99.9 % and the seeds are fixed: with right code a change of the random
numbers would make about one interval in a thousand fail. Each expectation also names neighbouring
theories which its interval must rule out, and has a greatest width: an interval that cannot tell
theories apart would prove nothing. Every day every system runs at one load, short and on the compiled
engine; `make verify` runs all loads, and SimPy shorter at one, for it is the slower by far.
"""

from dataclasses import replace

import pytest
from sizes import first

from evidence.agreement import Effort, Expected, compare
from evidence.known_systems import KNOWN, LOADS, known_result, priorities, single_queue
from nona.core.errors import SimulationError
from nona.queries.schedulers.registry import get_scheduler

SHORT = Effort(replications=10, scale=0.5, engine="simpy")
LONG = Effort(engine="compiled")
SMALL = Effort(replications=10, scale=0.3, engine="compiled")
SLOW = ("shortest of",)  # on SimPy: it looks at hundreds of queues for every job
WIDEST = {0.3: 0.10, 0.6: 0.12, 0.9: 0.25}  # half-width of the interval / mean
WIDEST_SHORT = 0.35
RARELY_IDLE = 0.005
CASES = first(
    len(KNOWN),
    [
        *((name, 0.6, SMALL) for name in KNOWN),
        *((name, 0.6, SHORT) for name in KNOWN if not name.startswith(SLOW)),
        *((name, load, LONG) for load in LOADS for name in KNOWN),
    ],
)


@pytest.mark.parametrize(("name", "load", "effort"), CASES, ids=lambda v: getattr(v, "engine", None))
def test_simulated_means_agree_with_theory(name, load, effort):
    result = known_result(name, load, effort)
    known = result.known
    assert known.name == name
    assert result.trouble == ()
    widest = WIDEST[load] if effort is LONG else WIDEST_SHORT
    for a in result.agreements:
        assert a.agrees, a
        assert a.half_width < widest, a
        if effort is LONG:
            assert a.told_apart() == tuple(a.expected.rivals), a
    always = known.compute > 1 - RARELY_IDLE  # then runs may have no idle time, and so no interval
    busy = pytest.approx(known.compute, abs=RARELY_IDLE)
    assert result.compute.covers(known.compute) or (always and result.compute.mean == busy), result.compute
    assert result.network.covers(known.network), (result.network, known.network)


@pytest.mark.verify
def test_two_choices_on_simpy():
    """At one load and on fewer executors, where the limit is still within a fraction of a percent."""
    known = KNOWN["shortest of 2, 500 executors"](0.3)
    result = compare(known, Effort(replications=8, scale=0.25))
    assert result.trouble == ()
    (a,) = result.agreements
    assert a.agrees
    assert a.half_width < 0.08
    assert a.told_apart() == ("shortest of 1",)


def test_every_expectation_could_fail():
    """Rivals are not what theory says, loads are those of the system, bounds are in order."""
    for build in KNOWN.values():
        for load in LOADS:
            known = build(load)
            assert max(known.compute, known.network) <= load + 1e-12 or known.system.batches
            for e in known.expected:
                assert 0 < e.low_s <= e.high_s
                assert all(not e.low_s <= v <= e.high_s for v in e.rivals.values())
        assert all(e.rivals or e.query is not None for e in build(0.9).expected)


@pytest.mark.parametrize("wrong", [0.85, 1.2])
def test_a_wrong_theory_is_found_out(wrong):
    known = single_queue(0.0)(0.6)
    (right,) = known.expected
    result = compare(replace(known, expected=(Expected(right.low_s * wrong, right.high_s * wrong),)), SHORT)
    (a,) = result.agreements
    assert not a.agrees
    assert a.error == pytest.approx(1 / wrong - 1, abs=0.1)


@pytest.mark.verify
def test_a_wrong_simulation_is_found_out():
    """Priorities ignored: each class waits alike."""
    known = priorities(0.6)
    result = compare(replace(known, scheduler=get_scheduler("opportunistic"), options={}), SHORT)
    assert not all(a.agrees for a in result.agreements)


def test_errors_between_bounds_are_none_and_outside_count_from_the_nearer():
    known = single_queue(0.0)(0.3)
    mean = compare(known, SHORT).agreements[0].simulated.mean
    for low, high, error in ((0.9, 1.1, 0.0), (0.5, 0.8, 0.25), (1.25, 2.0, -0.2)):
        result = compare(replace(known, expected=(Expected(low * mean, high * mean),)), SHORT)
        assert result.agreements[0].error == pytest.approx(error, abs=1e-12)


def test_an_overloaded_system_is_trouble():
    known = single_queue(1.0)(0.6)
    crowd = replace(known.system.queries[0], rate=130.0)
    result = compare(replace(known, system=replace(known.system, queries=(crowd,))), Effort(2))
    assert [("load offered" in t, t[:13]) for t in result.trouble] == [
        (True, "replication 0"),
        (True, "replication 1"),
    ]


def test_progress_goes_from_nothing_to_all():
    seen = []
    compare(single_queue(0.0)(0.3), Effort(3), seen.append)
    assert seen == sorted(seen)
    assert 0 <= seen[0] < 0.1
    assert len(set(seen)) > 10
    assert seen[-1] == pytest.approx(1.0)


def test_an_effort_without_jobs_is_refused():
    with pytest.raises(SimulationError, match="jobs=0 must be at least 1"):
        compare(single_queue(0.0)(0.3), Effort(1, scale=1e-9))
