"""What the map of predictions says of a system: how far predicted means were off at like loads."""

from __future__ import annotations

from nona.core.tables import share_text
from nona.queries.placement.results import Prediction
from nona.queries.study_results import MapPoint, PredictionMap
from nona.queries.system import QueryClass, System
from nona.queries.workflows.shipped import stored_result
from nona.scenario.schema import Scenario

BOUND = 0.10  # of the simulated mean: a prediction that is off by no more is good


def error(point: MapPoint) -> float | None:
    """(predicted − simulated) / simulated; ``None`` if one of them has no value or steady state."""
    if point.state != "stable" or point.formula_s is None or not point.simulated_s:
        return None
    return round(point.formula_s / point.simulated_s - 1.0, 12)


NEAR = 0.15  # utilisations that count as alike


def is_like(point: MapPoint, servers: float, link: float | None, bursty: bool) -> bool:
    """Return whether a point has like loads and arrivals; ``link`` is ``None`` where nothing is sent."""
    alike = point.split == 0 if link is None else abs(point.link - link) <= NEAR
    return (point.processes != ("poisson",)) == bursty and abs(point.servers - servers) <= NEAR and alike


def like_cases(data: PredictionMap, servers: float, link: float | None, bursty: bool) -> list[float]:
    """Return the absolute errors of the predicted mean at all points of like loads and arrivals, in order."""
    like = (p for p in data.points if is_like(p, servers, link, bursty))
    return sorted(abs(e) for p in like if (e := error(p)) is not None)


HIGHEST = 0.85  # utilisation of the map's most loaded points
_BEYOND = 0.03  # above the map's highest loads
_NOTHING = 1e-6  # utilisation
_HIGHEST_CV = 3.0  # of gaps between arrivals on the map


def untested(system: System, prediction: Prediction) -> str | None:
    """One line of text if the formula is not known to be within 10 %, else ``None``."""
    if system.beyond_formula:
        return None  # there is no prediction
    servers = max(c.utilization for c in prediction.classes)
    link = _used(system, prediction.network_utilization)
    reason = _beyond_text(system, servers, link)
    if reason is not None:
        return f"Outside the tested range of the prediction: {reason}; take the simulated times."
    bursty = any(q.arrivals.process != "poisson" for q in system.queries)
    errors = like_cases(stored_result(PredictionMap), servers, link, bursty)
    if not errors:
        return "No tested point has similar loads and arrivals; take the simulated times."
    off = sum(e > BOUND for e in errors)
    if off == 0:
        return None
    return (
        f"At {off} of {len(errors)} tested points of similar load and arrivals the predicted mean was off by "
        f"more than {share_text(BOUND)} (at most {share_text(max(errors))}). Simulated times stay valid."
    )


def _used(system: System, link: float) -> float | None:
    """Return the link's utilisation, ``None`` where the placement sends nothing over it."""
    stream = system.background_network
    return link if link > stream.load(system.capacity) + _NOTHING else None


def _beyond_text(system: System, servers: float, link: float | None) -> str | None:
    if servers > HIGHEST + _BEYOND:
        return f"executor load {share_text(servers)}, tested up to {share_text(HIGHEST)}"
    if link is not None and link > HIGHEST + _BEYOND:
        return f"link busy {share_text(link)}, tested up to {share_text(HIGHEST)}"
    if link is not None and system.discipline != "fifo":
        return "equally shared links were not tested"
    for query in system.queries:
        if not _tested(query):
            return f"arrivals of {query.name} ({query.arrivals.process}) are burstier than any tested"
    return None


def _tested(query: QueryClass) -> bool:
    arrivals = query.arrivals
    if arrivals.process == "gamma":
        return arrivals.cv <= _HIGHEST_CV
    return arrivals.process in ("poisson", "deterministic")


def like_cases_text(scenario: Scenario, servers: float | None, link: float | None) -> str:
    """How far predicted means were off at points like the scenario; empty where the loads are unknown."""
    if servers is None or link is None:
        return ""
    bursty = any(row.arrivals.process != "poisson" for row in scenario.workload)
    used = link if link > scenario.background.network.utilization + _NOTHING else None
    rows, groups = scenario.workload, scenario.cluster.servers
    if any(scenario.batching_of(row) or scenario.has_pools(row) or row.concurrency for row in rows) or any(
        group.instances for group in groups
    ):
        return "The formula does not cover batches, shared GPUs and users: only loads are predicted"
    errors = like_cases(stored_result(PredictionMap), servers, used, bursty)
    if not errors:
        return "No tested case has a similar load: take the simulated times"
    middle = errors[len(errors) // 2]
    cases = "the one similar case" if len(errors) == 1 else f"half of {len(errors)} similar cases"
    return f"Prediction within {share_text(middle, 1)} in {cases}, at most {share_text(errors[-1])} off"
