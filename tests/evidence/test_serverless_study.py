"""The serverless study: what ships is what it computes; words follow numbers; defaults have sources."""

import pytest

from evidence.policy_results import Cell, ServerlessStudy
from evidence.reports import serverless, serverless_claims
from evidence.reports.serverless import gaps
from evidence.serverless import POLICIES, SETTINGS, measured_searches, setting
from nona.core.experiments import kept_pool
from nona.core.tables import share_text
from nona.queries.sweeps.numbers import LOAD, number_named
from nona.queries.workflows.shipped import stored_result
from nona.serverless.engine.options import PlatformRunOptions
from nona.serverless.policies.registry import get_policy
from nona.serverless.workflows.comparisons import cluster_usd_hour
from nona.serverless.workflows.knees import TRAINED
from nona.serverless.workflows.preparation import prepare_serverless
from nona.serverless.workflows.tasks import PolicyTask, run_tasks

SMALL = PlatformRunOptions(calls=80, warmup=40)


def test_a_cheap_point_computed_anew_lies_within_its_stored_interval():
    data = stored_result(ServerlessStudy)
    name = data.cutoff.setting
    run = PlatformRunOptions(calls=data.calls)
    (done,) = run_tasks([PolicyTask(setting(name, data.seed), "fast-gshare", {}, run, 1)])
    stored = data.settings[name].cells["fast-gshare"]
    assert done.runs[0].all.hit_rate == pytest.approx(stored.hits[0], abs=0.02)
    assert done.runs[0].all.cost_per_call == pytest.approx(stored.costs[0], rel=0.02)


def test_every_interval_stored_follows_from_its_own_replications_and_pays_no_less_than_the_oracle():
    for row in stored_result(ServerlessStudy).settings.values():
        for policy, shown in row.policies.items():
            cell = row.cells[policy]
            for estimate, name in ((shown.slo_hit_rate, "hits"), (shown.cost_per_call_usd, "costs")):
                assert estimate.mean == pytest.approx(serverless_claims.mean(cell, name), rel=1e-4)
            assert len(cell.hits) == stored_result(ServerlessStudy).replications
            kept = shown.slo_hit_rate.mean
            least = max(usd for share, usd in row.oracle.curve if share <= kept + 1e-9)
            assert shown.cost_per_call_usd.mean >= least * (1 - 1e-4), policy


def made_up(esg, others, cost):
    """Cells in which ESG keeps ``esg``, the others keep ``others`` and cost ``cost`` times as much."""

    def one(hits, usd, miss, search_s, fill):
        both = {"hits": (hits, hits), "costs": (usd, usd), "fill": (fill,), "mean_fill": fill}
        return Cell(**both, miss=miss, search_s=search_s, state="stable")

    found = {}
    for place, name in enumerate(SETTINGS):
        rest = {p: one(others, cost, None, 0.0, 0.95) for p in POLICIES[1:]}
        rest["orion"] = one(others, cost, (9.0 + 20 * place) / 100, 0.05, 0.95)
        rest["aquatope"] = one(others, cost, (78.0 - 9 * place) / 100, 0.0, 0.95)
        rest["infless"] = one(others, 2 * cost, None, 0.0, 0.95)
        found[name] = {"esg": one(esg, 1.0, None, 0.001 * (1 + place), 0.9), **rest}
    return found


def with_hits(*hits):
    return Cell(hits=hits, costs=hits, miss=None, search_s=None, fill=(), mean_fill=None, state="stable")


def test_policies_are_paired_by_replication():
    assert serverless_claims.difference(with_hits(1.0, 1.0), with_hits(0.5, 0.5), "hits").mean == 0.5
    assert serverless_claims.difference(with_hits(0.9, 0.8), with_hits(0.5, 0.4), "hits").half_width < 1e-9


def test_claims_hold_where_they_are_true_and_fail_where_they_are_not():
    like_the_slides, unlike = made_up(0.95, 0.45, 1.2), made_up(0.45, 0.95, 0.5)
    for claim in serverless_claims.CLAIMS:
        assert claim.judge(like_the_slides).order is True, claim.name
        assert claim.judge(like_the_slides).size in (True, None), claim.name
        assert claim.judge(like_the_slides).finding
    failed = {
        c.name
        for c in serverless_claims.CLAIMS
        if c.judge(unlike).order is False or c.judge(unlike).size is False
    }
    assert len(failed) >= 3
    reversed_times = dict(zip(SETTINGS, [like_the_slides[name] for name in SETTINGS[::-1]], strict=True))
    again = {c.name for c in serverless_claims.CLAIMS if c.judge(reversed_times).order is False}
    assert any("misses of orion" in n for n in again)
    assert any("search" in n for n in again)


def test_the_sentence_on_use_follows_from_the_curves_and_is_in_the_report():
    data = stored_result(ServerlessStudy)
    sentence = serverless.claim_text(data)
    assert sentence in serverless.presented(data).text()
    reports = dict(data.curves)
    for others, low, high in (serverless.SHARES, serverless.SEARCHES):
        for gap in gaps(reports, others):
            esg, *rest = (
                next(p for p in reports[gap.setting].policies[name].points if p.value == gap.load)
                for name in ("esg", *others)
            )
            leads = [100 * (esg.slo_hit_rate.mean - other.slo_hit_rate.mean) for other in rest]
            assert gap.inside(low, high) == all(low <= lead <= high for lead in leads)
        held = [gap.vgpus_held for gap in gaps(reports, others) if gap.inside(low, high)]
        lead = sentence.split(f"lead of {low:.0f} to {high:.0f} points")[1].split(". The lead of esg")[0]
        where = f"{share_text(max(held))} of the vGPUs" if held else "at none of the loads tried"
        assert lead.endswith(where)


def test_what_is_trained_once_for_all_loads_depends_on_none():
    few = {"initial": 3, "rounds": 1, "candidates": 2, "samples": 4, "calls": 4}
    base = setting(SETTINGS[0])
    systems = [prepare_serverless(s) for s in (base, number_named(base, LOAD).with_value(base, 3.0))]
    for name in TRAINED:
        one, other = ([f.plan for f in get_policy(name).prepare(s, few).trained] for s in systems)
        assert one == other


@pytest.mark.verify
def test_tasks_pair_policies_and_do_not_depend_on_the_number_of_processes():
    scenario = setting(SETTINGS[0])
    tasks = [PolicyTask(scenario, policy, {}, SMALL, 2) for policy in ("fixed", "fast-gshare")]
    heard = []
    alone = run_tasks(tasks, None, heard.append)
    with kept_pool(2) as pool:
        together = run_tasks(tasks, pool)
    assert repr([d.runs for d in alone]) == repr([d.runs for d in together])  # nan is not equal to itself
    assert heard == sorted(heard)
    assert heard[-1] == pytest.approx(1.0)
    assert [r.all.calls for r in alone[0].runs] == [r.all.calls for r in alone[1].runs]


def test_searches_are_timed_and_counted():
    found, system = measured_searches(setting(SETTINGS[0]), 30), prepare_serverless(setting(SETTINGS[0]))
    assert found.searches > 0
    assert 0 < found.measured_s.p5 <= found.measured_s.p99
    assert found.steps.mean < len(system.space) ** 3 <= found.full_paths
    assert cluster_usd_hour(system) == pytest.approx(16 * (16 * 0.034 + 7 * 0.67)), "all its nodes"
