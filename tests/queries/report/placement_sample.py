"""A small placement report made by hand, to be changed field by field."""

from nona.core.document import About
from nona.queries.placement import results as placement
from tests.core.filled import but, filled

T4 = placement.PredictedClass(executor_class="t4", executors=2, utilization=0.5, wait_s=0.001)
TIMES = {"mean": 0.08, "ci95": (0.078, 0.082), "p50": 0.08, "p95": 0.1, "p99": 0.1, "misses": None}
SIMULATED = placement.SimulatedPlacement(
    **TIMES, jobs=1000, candidates=12, lead=0.05, lead_error=0.01, steady=True, models={}
)
BUSY = {"network_utilization": 0.2, "compute_utilization": 0.5, "congestion_price_s_per_byte": 0.0}
MIX = filled(placement.PredictedMix, jct_s=0.08, server_wait_s=0.001, classes=(T4,), **BUSY)


def report(**more):
    """A simulated placement, with other values for some fields."""
    bound = placement.CertifiedOptimum(objective_s=0.08, lower_bound_s=0.068, gap=0.15)
    words = {"objective": "mean-jct", "origin": "formula", "objective_s": 0.08}
    plain = filled(placement.PlacementReport, **words, formula=bound, predicted=MIX, simulated=SIMULATED)
    return plain.model_copy(update=more)


def taking(mean_s, **more):
    """A report with this simulated mean; ``None``: no steady state."""
    if mean_s is None:
        return None
    ends = (0.98 * mean_s, 1.02 * mean_s)
    return report(objective_s=mean_s, simulated=but(SIMULATED, mean=mean_s, ci95=ends, **more))


def outcome(nona_s, local_s, spread_s):
    """An outcome with these mean JCTs; ``None``: no steady state."""
    nona, local, spread = map(taking, (nona_s, local_s, spread_s))
    about = filled(About, name="sample")
    return placement.PlacementOutcome(about=about, nona=nona, local=local, spread=spread, models={})
