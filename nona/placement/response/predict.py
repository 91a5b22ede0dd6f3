"""The distribution of the completion times that a placement brings about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nona.decomposition.subgraph import VIRTUAL
from nona.errors import PlacementError
from nona.placement.capacity.stability import check_feasible
from nona.placement.formula.known import Known
from nona.placement.formula.model import Model
from nona.placement.formula.prediction import as_model
from nona.placement.response.equilibrium import Equilibrium
from nona.placement.response.times import REPLICATES, Response, mixed
from nona.placement.response.walk import Route
from nona.placement.result.configuration import SubGraphPlacement
from nona.system import System

Floats = NDArray[np.float64]
SAMPLES = 1024


def predict_response(
    system: System,
    queries: Sequence[Sequence[SubGraphPlacement]],
    *,
    shares: Floats | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
    known: Known | None = None,
) -> Response:
    """Predict how long the jobs of a placement take: not only the mean, but the distribution.

    ``samples`` jobs of each class are walked through their sub-graphs by the simulator's rules. Each
    resource that a job touches is a random place in a sample path of the work waiting there
    (Lindley's recursion), independent of the other resources; what the job itself brought is
    accounted for exactly. So the maximum of random waits is that of random waits, and a job that comes
    back to a server meets what came while it was there.

    Parameters
    ----------
    queries
        ``queries[j][k]``: the configurations of sub-graph k of query class j with probabilities.
    shares
        (J, K) Probability that a server drawn for class j has an executor of class k; by default the
        share of these executors.
    samples
        Walked jobs of each class, at least 64; the error falls with the square root.
    seed
        Of the named random streams; the same seed gives the same numbers.
    known
        Configurations of this system and these shares that were evaluated before.

    Raises
    ------
    PlacementError
        When the executors or the link's background are overloaded, or for too few samples.

    Notes
    -----
    Limits: resources are independent of each other; under processor sharing a transfer is stretched
    by a random number of others at its start. ``docs/prediction.md`` derives it and says how far it
    is off.
    """
    if samples < 64:
        raise PlacementError(f"Response: samples={samples} must be at least 64; give 1024.")
    check_feasible(system, shares)
    model, x = as_model(system, queries, shares, known)
    settled = Equilibrium(system, _routes(model, x), model.shares, samples, seed).settle()
    links = settled.utilization[len(system.class_names) :]
    return Response(
        tuple(mixed([t], [1.0]) for t in settled.times_s),
        mixed(settled.times_s, model.weights.tolist()),
        settled.utilization[: len(system.class_names)],
        float(links.max()),
    )


def _routes(model: Model, x: Sequence[Sequence[Floats]]) -> list[Route]:
    routes = []
    for j, q in enumerate(model.system.queries):
        cuts = q.decomposition.cuts
        idle = np.zeros(len(model.system.class_names))
        times = [q.tasks.compute_s[:, t] if t != VIRTUAL else idle for t in cuts]
        first = cuts[0] != VIRTUAL
        routes.append(
            Route(j, np.stack(times, axis=1), model.candidates[j], tuple(x[j]), first, q.service_scv)
        )
    return routes


__all__ = ["REPLICATES", "SAMPLES", "predict_response"]
