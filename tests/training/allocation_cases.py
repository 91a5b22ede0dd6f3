"""Problems for tests of policies: small ones by hand, random ones by seed."""

import numpy as np

from nona.allocation.problem import AllocationProblem

TYPES = ("k80", "p100", "v100")


def problem(rates, gpus, **given):
    """A problem with the rates; what is not given is 1 each, no deadline, no price."""
    table = np.array(rates, dtype=float)
    m, kinds = table.shape
    types = given.pop("types", TYPES[:kinds])
    usual = {
        "workers": np.ones(m),
        "weights": np.ones(m),
        "remaining": np.full(m, 1000.0),
        "elapsed_s": np.zeros(m),
        "isolated_s": np.zeros(m),
        "slo_s": np.full(m, np.nan),
        "prices": np.zeros(kinds),
    }
    for key, value in given.items():
        usual[key] = np.array(value, dtype=float) if key in usual else value
    names = tuple(f"job{i}" for i in range(m))
    return AllocationProblem(types, np.array(gpus, dtype=float), names, rates=table, **usual)


def pairs(*found):
    """(a, b, (own, partner's) rate by type) as a problem's fields."""
    return {
        "pairs": np.array([(a, b) for a, b, _ in found]),
        "pair_rates": np.array([rates for *_, rates in found], dtype=float),
    }
