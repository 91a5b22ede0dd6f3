"""Instances that stand: theory for one, money, capacity, and the rules by which they start and stop."""

import math
from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from serverless_cases import SPACE, function, measured_latency, one_application, table_system, workflow_system
from sizes import examples

from nona.cluster.sharing.pool import Invoker
from nona.core.statistics import mean_interval
from nona.core.tables import share_text
from nona.scenario.serverless import ContainersSpec, DispatchSpec, SharingSpec
from nona.serverless.checks import run_checks
from nona.serverless.engine.options import PlatformRunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.functions import grid
from nona.serverless.metrics import summarise
from nona.serverless.occupation import leases
from nona.serverless.policies.base import Fleet
from nona.serverless.policies.choices import profile_s, static_shares
from nona.serverless.policies.registry import get_policy
from nona.serverless.report.layouts import layout_rows
from nona.serverless.report.text import PARTS
from nona.serverless.system import HOUR_S

NAMES = ("infless", "fast-gshare")


def scaler(name, system, **options):
    return get_policy(name).prepare(system, {"standing": True, **options}).scaler


def stood(system, name, calls, warmup=0, replication=0, **options):
    run = PlatformRunOptions(calls=calls, warmup=warmup, replication=replication)
    records = simulate_serverless(system, get_policy(name), {"standing": True, **options}, run)
    assert [c for c in run_checks(system, records) if not c.ok] == []
    return records, records.instances


def one_at_a_time(rate, noise=0.0):
    """Jobs of 1 s on average in batches of one, and an SLO that leaves time."""
    return one_application([function("a", 0.75, 0.25)], rate=rate, noise=noise, invokers=(Invoker(),) * 3)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_under_little_load_one_instance_stands_and_waits_are_those_of_pollaczek_and_khinchine(name, noise):
    """M/G/1 (M/D/1 without noise): E[T] = E[S] + λ E[S²] / (2 (1 − ρ)). Source: Kleinrock I, 1975, 5.6.

    The rate is measured over so long that it never reaches the instance's, nor falls to nothing.
    """
    rate, system = 0.35, one_at_a_time(0.35, noise)
    found = []
    for replication in range(6):
        records, of = stood(system, name, 2500, 300, replication, window_s=600.0, scale_s=5.0)
        stands = (of.started_s <= records.sums.end_s) & ~(of.ended_s < records.sums.start_s)
        assert np.count_nonzero(stands) == 1
        found.append(measured_latency(records))
    expected = 1 + rate * (1 + noise**2) / (2 * (1 - rate))
    assert mean_interval(found, 0.99).covers(expected)


@given(
    name=st.sampled_from(NAMES),
    rate=st.sampled_from([0.5, 4.0, 15.0]),
    mode=st.sampled_from(["mig-counter", "mig-geometry", "mps", "time-slicing"]),
    warm=st.integers(0, 2),
    late=st.sampled_from(["keep", "drop"]),
)
@examples(25)
def test_what_calls_cost_is_what_instances_held(name, rate, mode, warm, late):
    """Σ over instances of standing time · price, written out, is the cost of all calls; capacity is kept."""
    system = workflow_system(
        [0.1, 0.3],
        [(0, 1)],
        slo_s=1.2,
        rate=rate,
        noise=0.2,
        seed=int(rate),
        sharing=SharingSpec(mode=mode),
        containers=ContainersSpec(warm=warm, prewarm="none", keep_alive=5.0),
        dispatch=DispatchSpec(late=late),
    )
    records, of = stood(system, name, 80, 20, scale_s=0.7, window_s=2.0)
    sums, expected, busy = records.sums, 0.0, 0.0
    for n in range(len(of.started_s)):
        until = records.stopped_s if math.isnan(of.ended_s[n]) else of.ended_s[n]
        c = system.space[int(of.configuration[n])]
        price = (c.vcpus * system.prices.vcpu_hour + c.vgpus * system.prices.vgpu_hour) / HOUR_S
        expected += price * max(0.0, min(until, sums.end_s) - max(of.started_s[n], sums.start_s))
        for k in np.flatnonzero(of.of_batch == n):
            end_s = records.batches.ended_s[k]
            end_s = records.stopped_s if math.isnan(end_s) else end_s
            begin_s = max(records.batches.dispatched_s[k], sums.start_s)
            busy += price * max(0.0, min(end_s, sums.end_s) - begin_s)
    summary = summarise(system, [records])
    assert summary.cost_per_call_usd.mean * 80 == pytest.approx(expected)
    assert summary.standing.busy_share == pytest.approx(busy / expected)
    assert 0 < summary.standing.busy_share <= 1


def test_the_band_of_the_documented_row():
    """b = 8, 115 of 300 ms: 69.57 and 43.24 a second. Two: 139.13 and 86.49, well used from 128.60 on."""
    system = table_system([0.200, 0.115], slo_s=0.300, space=grid([1, 8], [1], [1]))
    of = scaler("infless", system)
    found = of.service(0, 0, 1)
    assert (math.floor(found.most), math.floor(found.least)) == (69, 43)
    assert found.timeout_s == pytest.approx(0.185)

    def stops(rate, count):
        return of.stops(Fleet(0, 0, rate, (1,) * count))

    assert of.excess(Fleet(0, 0, 70.0, (1,))) == pytest.approx(0.4348, abs=1e-4)
    assert of.excess(Fleet(0, 0, 69.5, (1,))) < 0
    # 0.8 · (69.57 − 43.24) + 43.24 = 64.30; below the band, but none would be left, or one is not enough
    assert [stops(*at) for at in ((64.4, 1), (64.2, 1), (128.7, 2), (128.5, 2), (69.6, 2))] == [()] * 5
    assert (stops(69.5, 2), stops(60.0, 3), stops(0.0, 2)) == ((1,), (2, 1), (1, 0))  # the newest go


rates = st.floats(0, 60)
fleets = st.lists(st.integers(0, len(SPACE) - 1), max_size=6).map(tuple)
SYSTEM = workflow_system([0.3, 0.1], [(0, 1)], slo_s=0.9)


@given(rates, fleets)
@examples(150)
def test_what_infless_leaves_is_in_the_band_or_cannot_be_less(rate, standing):
    """By trying every subset: where some subset is in the band, or below it only by need."""
    of = scaler("infless", SYSTEM)
    services = [of.service(0, 0, c) for c in standing]
    fleet = Fleet(0, 0, rate, standing)
    if of.excess(fleet) > 0:
        assert sum(s.most for s in services) < rate
        return
    rest = [s for k, s in enumerate(services) if k not in of.stops(fleet)]
    most, least = sum(s.most for s in rest), sum(s.least for s in rest)
    assert most >= rate - 1e-9
    if 0.8 * (most - least) + least > rate:
        assert all(most - s.most < rate for s in rest)


@given(rates, fleets, st.sampled_from((0, 1)))
@examples(150)
def test_fast_gshare_starts_and_stops_by_its_rule(rate, standing, stage):
    """T(p) = b/t; efficiency T over price; all written out anew."""
    of = scaler("fast-gshare", SYSTEM)
    time_s = profile_s(SYSTEM, SYSTEM.applications[0])[stage]
    does = [c.batch / time_s[n] for n, c in enumerate(SPACE.configurations)]
    share_s = static_shares(SYSTEM, SYSTEM.applications[0])[stage]
    kept = [n for n in range(len(SPACE)) if time_s[n] <= share_s]
    per_usd = [does[n] / SYSTEM.price_per_s[n] for n in range(len(SPACE))]
    capacity, fleet = sum(does[n] for n in standing), Fleet(0, stage, rate, standing)
    assert (of.excess(fleet) > 0) == (rate - capacity > 0.2 * capacity)
    best = max(per_usd[n] for n in kept)
    first = of.ranked(0, stage, rate)[0]
    effective = max((n for n in kept if per_usd[n] == pytest.approx(best)), key=lambda n: does[n])
    if rate >= does[effective] * (1 + 1e-9):
        assert per_usd[first] == pytest.approx(best)
    elif rate < does[effective] * (1 - 1e-9):
        assert does[first] == min(does[n] for n in kept if does[n] > rate)
    gone = of.stops(fleet)
    assert not gone or capacity - rate > 0.2 * capacity
    rest = [k for k in range(len(standing)) if k not in gone]
    assert sum(does[standing[k]] for k in rest) >= min(rate, capacity) - 1e-9
    of_kept = [per_usd[standing[k]] for k in gone if standing[k] in kept]
    assert of_kept == pytest.approx(sorted(of_kept))
    if capacity - rate > 0.2 * capacity and rest and all(n in kept for n in standing):
        worst = min(per_usd[standing[k]] for k in rest)
        least = [k for k in rest if per_usd[standing[k]] == pytest.approx(worst)]
        assert any(sum(does[standing[j]] for j in rest if j != k) < rate + 1e-9 for k in least)


def test_the_checks_find_what_instances_cannot_have_done():
    """A batch elsewhere, two at once, one after the end, and more than an invoker has."""
    system = one_at_a_time(1.5)
    records, of = stood(system, "fast-gshare", 60, 10, scale_s=5.0)

    def failed(**changed):
        found = replace(records, instances=replace(of, **changed))
        return {c.name for c in run_checks(system, found) if not c.ok}

    assert failed() == set()
    assert "instances" in failed(invoker=of.invoker + 1)
    assert "instances" in failed(of_batch=np.zeros_like(of.of_batch))
    assert "instances" in failed(ended_s=of.started_s + 1.0)
    assert "money" in failed(ended_s=of.started_s + 1.0)
    copies = np.arange(len(of.started_s)).repeat(20)
    many = {
        f.name: getattr(of, f.name)[copies] for f in fields(of) if f.name not in ("of_batch", "configuration")
    }
    assert {"capacity", "slots"} <= failed(**many, configuration=of.configuration[copies])


def test_drawn_rows_of_an_instance_fill_its_time_and_do_not_overlap():
    system = one_at_a_time(1.5)
    records, of = stood(system, "infless", 60, 10)
    rows, until_s = layout_rows(records, system, most=10**9), leases(records).to_s
    start_s, most = records.sums.start_s, 0.0
    for n in np.flatnonzero(until_s > start_s):
        place = (int(of.invoker[n]), int(of.slots[n]))
        own = [r for r in rows if (r.invoker, r.slots) == place]
        own = [r for r in own if of.started_s[n] - start_s <= r.from_s < until_s[n] - start_s]
        assert all(a.to_s <= b.from_s + 1e-9 for a, b in pairwise(own))
        inside = sum(r.to_s - max(r.from_s, 0.0) for r in own)
        assert inside == pytest.approx(until_s[n] - max(of.started_s[n], start_s))
        most = max(most, inside)
    assert most > 10
    assert {r.jobs for r in rows} == {0, 1}


def test_reports_name_instances_and_the_idle_part_only_where_instances_stand():
    system = one_at_a_time(1.5)
    plain = [simulate_serverless(system, get_policy("infless"), {}, PlatformRunOptions(calls=60, warmup=10))]
    both = {"infless": plain, "fast-gshare": [stood(system, "fast-gshare", 60, 10)[0]]}
    found = {name: summarise(system, runs) for name, runs in both.items()}
    assert found["infless"].standing is None
    of = found["fast-gshare"].standing
    assert of.idle_share == pytest.approx(1 - of.busy_share)
    (row,) = PARTS[-1].filled(found).texts()
    assert (row["policy"], row["idle"]) == ("fast-gshare", share_text(of.idle_share, 1))
    assert not PARTS[-1].filled({"infless": found["infless"]})
