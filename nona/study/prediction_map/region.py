"""Whether a placement is in the region in which the map shows an error within 10 %; if not, why."""

from __future__ import annotations

from nona.report.prediction_map.rows import BOUNDS, error
from nona.report.text import share_text
from nona.results.placement.response import ResponseReport
from nona.results.studies.prediction_map import MapPoint
from nona.study.prediction_map.points import HIGHEST
from nona.study.shipped import shipped_map
from nona.system import QueryClass, System

_NEAR = 0.15  # utilisations that count as similar
_BEYOND = 0.03  # above the map's highest loads
_NOTHING = 1e-6  # utilisation
_HIGHEST_CV = 3.0  # of gaps between arrivals on the map


def warning(system: System, response: ResponseReport) -> str | None:
    """One line of text if the prediction is not known to be within 10 %, else ``None``."""
    servers, link = response.compute_utilization, _used(system, response.link_utilization)
    reason = _beyond(system, servers, link)
    if reason is not None:
        return f"Outside the tested range of the prediction: {reason}; simulate before relying on it."
    similar = [p for p in shipped_map().points if _similar(p, system, servers, link)]
    errors = [abs(e) for p in similar if (e := error(p, "mean_s")) is not None]
    bound = BOUNDS["mean_s"]
    if not errors:
        return "No tested point has similar loads and arrivals; simulate before relying on it."
    off = sum(e > bound for e in errors)
    if off == 0:
        return None
    return (
        f"At {off} of {len(errors)} tested points of similar load and arrivals the predicted mean was off by "
        f"more than {share_text(bound)} (at most {share_text(max(errors))}); simulate to be sure."
    )


def _used(system: System, link: float) -> float | None:
    """The link's utilisation, ``None`` where the placement sends nothing over it."""
    stream = system.background_network
    return link if link > stream.rate * stream.mean / system.capacity + _NOTHING else None


def _beyond(system: System, servers: float, link: float | None) -> str | None:
    if servers > HIGHEST + _BEYOND:
        return f"executors busy {share_text(servers)}, tested up to {share_text(HIGHEST)}"
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


def _similar(point: MapPoint, system: System, servers: float, link: float | None) -> bool:
    bursty = any(q.arrivals.process != "poisson" for q in system.queries)
    alike = point.split == 0 if link is None else abs(point.link - link) <= _NEAR
    return bursty == (point.processes != ("poisson",)) and abs(point.servers - servers) <= _NEAR and alike
