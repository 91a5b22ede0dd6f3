"""A small placement report made by hand, to be changed field by field."""

from filled import but, filled

from nona.results import placement
from nona.results.document import About

T4 = placement.PredictedClass(executor_class="t4", executors=2, utilization=0.5, wait_s=0.001)
TIMES = {"mean_s": 0.08, "p50_s": 0.08, "p95_s": 0.1, "p99_s": 0.1}
RESPONSE = filled(placement.ResponseReport, **TIMES, compute_utilization=0.5, link_utilization=0.2)
MIX = filled(
    placement.PredictedMix,
    jct_s=0.08,
    network_wait_s=0.0,
    server_wait_s=0.001,
    network_utilization=0.2,
    compute_utilization=0.5,
    congestion_price_s_per_byte=0.0,
    classes=(T4,),
)


def report(**more):
    """A placement by formula alone, with other values for some fields."""
    bound = {"objective_s": 0.08, "lower_bound_s": 0.068, "gap": 0.15}
    words = {"solver": "parametric", "objective": "formula", "origin": "formula"}
    plain = filled(
        placement.PlacementReport,
        **bound,
        **words,
        objective_error_s=0.0,
        formula=placement.CertifiedOptimum(**bound),
        predicted=MIX,
    )
    return placement.FullPlacementReport.of(plain, RESPONSE).model_copy(update=more)


def outcome(nona_s, local_s, spread_s, **more):
    """An outcome with these mean JCTs; ``None``: no steady state."""

    def taking(mean_s):
        return report(objective_s=mean_s, response=but(RESPONSE, mean_s=mean_s))

    local, spread = (None if s is None else taking(s) for s in (local_s, spread_s))
    about = filled(About, name="sample")
    return placement.PlacementOutcome(
        about=about, nona=taking(nona_s), local=local, spread=spread, models={}, **more
    )
