"""Rounds of flows, made by hand."""

import numpy as np
from scheduler_cases import random_view, slides_query, system_of

from nona.schedulers.base import Round
from nona.schedulers.flows.allotter import FlowCluster, Known, Question

VIEW = random_view(system_of([slides_query()]), np.random.default_rng(0))
AMPLE = 1e6


def cluster(rates, counts):
    classes = np.repeat(np.arange(len(counts)), counts)
    return FlowCluster(
        flows=tuple(f"flow {i}" for i in range(len(rates))),
        classes=tuple(f"class {k}" for k in range(len(counts))),
        executor_class=classes.astype(np.int64),
        counts=np.array(counts, dtype=np.int64),
        rates=np.array(rates, dtype=float),
    )


def seen(of, **changes):
    flows, classes = of.rates.shape
    nothing = np.zeros((flows, classes))
    fields = {
        "now_s": 1.0,
        "length_s": 1.0,
        "offered": np.zeros(flows, np.int64),
        "completed": nothing.astype(np.int64),
        "service_s": nothing,
        "open": np.zeros(flows, np.int64),
        "slowdown": np.full(flows, np.nan),
        "view": VIEW,
    }
    return Round(**(fields | {name: np.array(value) for name, value in changes.items()}))


def question(rates, counts, expected=None, owned=None, **changes):
    """With ample work, unless ``expected`` queries a round say otherwise."""
    of = cluster(rates, counts)
    known = Known(np.array(expected or [AMPLE] * len(rates), dtype=float), of.rates)
    return Question(of, known, seen(of, **changes), np.array(owned or [sum(counts)] * len(rates)))
