"""Results of simulations made by hand, for tests of what is written and drawn of them."""

from nona.core.document import UNKNOWN, Estimate
from nona.queries import results as simulation
from tests.core.filled import but, filled


def around(mean, half):
    """A mean with an interval of that half-width."""
    if mean is None or half is None:
        return but(UNKNOWN, mean=mean)
    return Estimate(mean=mean, ci95=(mean - half, mean + half))


def within(mean, share):
    """A mean with an interval of that share of it on both sides."""
    return around(mean, share * (mean or 0.0))


def parts(*values):
    """Compute, transfer, waits at links, at servers and, where given, for own tasks."""
    names = ("compute", "transfer", "link_wait", "server_wait", "own_wait")
    return simulation.CompletionParts(
        **dict(zip(names, (*values, None if values[0] is None else 0.0), strict=False))
    )


def model(mean, of):
    """A model with that mean and those parts, without percentiles and SLO."""
    return filled(simulation.ModelResult, jct_s=mean, parts_s=of)


def scheduler(mean, state="stable", **changes):
    """A scheduler with that mean ± 10 %; half of it are waits where it is overloaded."""
    jct, p95 = within(mean, 0.1), None if mean is None else 2 * mean
    row = filled(
        simulation.SchedulerResult,
        jct_s=filled(
            simulation.Jct,
            mean=jct.mean,
            ci95=jct.ci95,
            p95=p95,
            percentiles={p: filled(simulation.Percentile, value_s=p95) for p in ("p50", "p95", "p99")},
            p99_reliable=True,
            jobs=100,
        ),
        parts_s=parts(None if mean is None else 0.75 * mean, 0.0, None, None),
        slo_hit_rate=Estimate(mean=0.5 if mean is None else 0.9, ci95=None),
        jobs=simulation.JobCounts(arrived=110, completed=100, in_flight=10),
        utilization=simulation.Resources(compute=0.25, network=0.5),
        offered=simulation.Resources(compute=0.25, network=1.25 if mean is None else 0.5),
        little_s=mean,
        state=state,
        state_reason="" if state == "stable" else "Because.",
        replications=5,
        decisions="machine code",
    )
    return row.model_copy(update=changes)


def difference(mean, relative, verdict):
    """A difference with an interval of 1 ms on either side."""
    of = {"relative": relative, "verdict": verdict, "replications": 5}
    return filled(simulation.Difference, jct_s=around(mean, 0.001), **of)


def report(schedulers):
    """A report on them, without checks, warm-up and precision."""
    return filled(simulation.SimulationReport, engine="compiled", seconds=1.0, schedulers=schedulers)
