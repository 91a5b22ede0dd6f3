"""A small placement report made by hand, to be changed field by field."""

from filled import but, filled

from nona.results import placement
from nona.results.document import About

T4 = placement.PredictedClass(executor_class="t4", executors=2, utilization=0.5, wait_s=0.001)
TIMES = {"mean_s": 0.08, "p50_s": 0.08, "p95_s": 0.1, "p99_s": 0.1}
RESPONSE = filled(placement.ResponseReport, **TIMES, compute_utilization=0.5, link_utilization=0.2)
BUSY = {"network_utilization": 0.2, "compute_utilization": 0.5, "congestion_price_s_per_byte": 0.0}
MIX = filled(placement.PredictedMix, jct_s=0.08, server_wait_s=0.001, classes=(T4,), **BUSY)


def report(**more):
    """A placement by formula alone, with other values for some fields."""
    bound = placement.CertifiedOptimum(objective_s=0.08, lower_bound_s=0.068, gap=0.15)
    words = {"solver": "parametric", "objective": "formula", "origin": "formula", "objective_error_s": 0.0}
    plain = filled(placement.PlacementReport, **dict(bound), **words, formula=bound, predicted=MIX)
    return placement.FullPlacementReport.like(plain, response=RESPONSE).model_copy(update=more)


def outcome(nona_s, local_s, spread_s):
    """An outcome with these mean JCTs; ``None``: no steady state."""

    def taking(mean_s):
        return None if mean_s is None else report(objective_s=mean_s, response=but(RESPONSE, mean_s=mean_s))

    nona, local, spread = map(taking, (nona_s, local_s, spread_s))
    about = filled(About, name="sample")
    return placement.PlacementOutcome(about=about, nona=nona, local=local, spread=spread, models={})
