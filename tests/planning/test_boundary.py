"""A job that takes exactly as long as its bound is in time, whatever the instant at which it arrives."""

from nona.report.simulations.live import LiveSeries
from nona.report.simulations.series import hits_over_time
from nona.scenario.file import scenario_from_mapping
from nona.simulation.theory import erlang_c
from nona.sources.lookup import Sources
from nona.study.capacity import fewest_servers
from nona.study.planning.plan import plan
from nona.study.preparation import prepare
from nona.study.simulation import simulate

RATE, SERVICE_S, HIT = 40.0, 0.02, 0.9


def scenario(slo_ms, servers=1):
    """M/D/c: a job that need not wait takes 20 ms."""
    return scenario_from_mapping(
        {
            "version": 1,
            "cluster": {"servers": [{"count": servers, "gpu": "l4"}]},
            "workload": [{"model": "one", "rate": RATE, "slo": f"{slo_ms} ms"}],
            "models": {
                "one": {
                    "directed": True,
                    "nodes": [{"id": "a", "compute_ms": {"l4": 1000 * SERVICE_S}}],
                    "edges": [],
                }
            },
            "simulation": {"jobs": 1000, "replications": 4},
            "schedulers": ["opportunistic"],
            "plan": {"hit": HIT, "schedulers": ["opportunistic"], "offers": ["l4=1"], "most": 16},
        }
    )


def seldom_wait(servers):
    """Whether so few jobs wait in M/M/c, and fewer in M/D/c, that the target holds by far."""
    return erlang_c(servers, RATE * SERVICE_S) < (1 - HIT) / 2


ENOUGH = next(c for c in range(1, 16) if seldom_wait(c))


def test_a_plan_counts_jobs_that_take_just_their_slo():
    found = plan(scenario(1000 * SERVICE_S))
    assert found.best.servers[0].count <= ENOUGH
    hit = found.best.models["one"].hit_rate.mean
    assert hit > HIT
    assert plan(scenario(999 * SERVICE_S)).answer is None


def test_a_simulation_and_capacity_count_them_too():
    (summary,) = simulate(prepare(scenario(1000 * SERVICE_S, ENOUGH))).summaries.values()
    assert summary.hit_rate.mean > HIT
    counted = fewest_servers(scenario(1000 * SERVICE_S), Sources(), 1 - HIT, scheduler="opportunistic")
    assert counted.servers <= ENOUGH


def test_live_figures_and_hits_over_time_count_as_the_result_does():
    study = prepare(scenario(1000 * SERVICE_S, ENOUGH))
    slo_s = [row.slo for row in study.scenario.workload]
    live = LiveSeries(slo_s)
    found = simulate(study, on_progress=lambda p: live.add(p.scheduler, p.replication, p.run))
    (name,) = found.summaries
    runs = found.records[name]
    kept = [int(run.tally.hits.sum()) for run in runs]
    shown = [sum(w.hits for w in hits_over_time({name: [run]}, slo_s)[name]) for run in runs]
    assert shown == kept
    line = live.snapshot()[name]
    assert line.hit_rate == sum(kept) / line.jobs
