"""Data of charts: hits over time, warm-up, links, condensed series, the network story."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from nona.cluster.hardware.cluster import Network
from nona.core.arrays import Floats, Ints
from nona.core.figures import PALETTE, QUIET, add_bars, figure, text
from nona.core.tables import BANDWIDTH, COUNT, Column, Table
from nona.core.units import format_bandwidth
from nona.queries import chart_data as simulation_charts
from nona.queries.report.live import IntervalMeans
from nona.queries.results import HitsOverTime, HitWindow, SimulationReport
from nona.queries.simulation.collected import in_time
from nona.queries.simulation.records import Records, TaskInterval
from nona.queries.simulation.steady_state import Truncation, Warmup
from nona.queries.simulation.summary import link_utilizations
from nona.queries.system import System

MOST_WINDOWS = 24
LEAST_JOBS = 30  # in a window, on average


def with_hits(
    report: SimulationReport, runs: Mapping[str, Sequence[Records]], slo_s: Sequence[float | None]
) -> SimulationReport:
    """Return the report with the SLO hits over time of every scheduler's first run."""
    return report.model_copy(update={"slo_over_time": hits_over_time(runs, slo_s)})


def hits_over_time(runs: Mapping[str, Sequence[Records]], slo_s: Sequence[float | None]) -> HitsOverTime:
    """Scheduler → windows of equal length over the arrivals of its first run.

    ``slo_s`` holds the SLO of each query class. Every arrived job counts, as in the hit rate of a run:
    one that was not completed has missed its SLO.
    """
    limits = np.array([np.nan if s is None else s for s in slo_s], dtype=float)
    if np.isnan(limits).all():
        return {}
    return {name: _windows(records[0], limits) for name, records in runs.items() if records}


def _windows(record: Records, limits: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[HitWindow, ...]:
    limit = limits[record.query]
    counted = ~np.isnan(limit)
    at = record.arrival_s[counted] - record.window_s[0]
    if not len(at):
        return ()
    taken = record.completion_time_s[counted]
    hit = ~np.isnan(taken) & in_time(taken, limit[counted])
    number = int(min(MOST_WINDOWS, max(1, len(at) // LEAST_JOBS)))
    edges = np.linspace(min(0.0, float(at.min())), max(float(at.max()), 1e-9), number + 1)
    place = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, number - 1)
    jobs = np.bincount(place, minlength=number).tolist()
    hits = np.bincount(place, weights=hit, minlength=number).astype(int).tolist()
    return tuple(
        HitWindow(start_s=low, end_s=high, jobs=n, hits=h, hit_rate=h / n if n else None)
        for low, high, n, h in zip(edges[:-1].tolist(), edges[1:].tolist(), jobs, hits, strict=True)
    )


POINTS = 240
WINDOWS = 20  # of a moving average in a pilot run


def warmup_series(warmup: Warmup) -> simulation_charts.WarmupSeries | None:
    """Return the common cut and, for each scheduler, its curves; ``None`` where no pilot was run."""
    if not warmup.cuts:
        return None
    return simulation_charts.WarmupSeries(
        jobs=warmup.jobs, schedulers={n: _curve(c) for n, c in warmup.cuts.items()}
    )


def _curve(cut: Truncation) -> simulation_charts.PilotCurve:
    smooth = _moving_average(cut.means, max(1, len(cut.means) // WINDOWS))
    least = float(cut.statistic.min()) if len(cut.statistic) else 0.0
    shown, tried = _spread(len(smooth)), _spread(len(cut.statistic))
    return simulation_charts.PilotCurve(
        at=tuple((cut.batch * (shown + 0.5)).tolist()),
        jct_s=tuple(smooth[shown].tolist()),
        statistic_at=tuple((cut.batch * tried).tolist()),
        statistic=tuple((cut.statistic[tried] / least).tolist()) if least > 0 else (),
        cut=cut.jobs,
        too_short=cut.too_short,
    )


def _spread(length: int) -> Ints:
    """At most ``POINTS`` positions, evenly spread."""
    return np.unique(np.linspace(0, max(length - 1, 0), min(POINTS, length)).round().astype(np.int64))


def _moving_average(values: Floats, window: int) -> Floats:
    """Mean of each value with up to ``window`` neighbours on either side, as many on both.

    It ends ``window`` values before the last, where fewer neighbours would let single values stand out.

    >>> _moving_average(np.array([3.0, 0.0, 3.0, 6.0]), 1).tolist()
    [3.0, 2.0, 3.0]

    Source: Welch's procedure, Law, Simulation Modeling and Analysis, 5th ed. 2015, section 9.5.1.
    """
    n = len(values)
    sums = np.concatenate([np.zeros(1), np.cumsum(values)])
    place = np.arange(max(n - window, min(n, 1)))
    reach = np.minimum(place, window)
    average: Floats = (sums[place + reach + 1] - sums[place - reach]) / (2 * reach + 1)
    return average


MOST_LINKS = 12
MOST_DRAWN = 2000


@dataclass(frozen=True, slots=True)
class LinkStage:
    """A stage of a message's path: its name, its number of links, the capacity of each (B/s)."""

    stage: str
    links: int
    each: float

    @property
    def total_capacity(self) -> float:
        """Capacity of all its links, B/s."""
        return self.links * self.each


def link_stages(network: Network, servers: int) -> list[LinkStage]:
    """Return the stages of the longest path.

    >>> [s.stage for s in link_stages(Network(nic=1e9), 4)]
    ['server out', 'core', 'server in']
    >>> link_stages(Network(nic=1e9), 4)[0].total_capacity
    4000000000.0
    """
    stages = [LinkStage("core", 1, network.capacity)]
    if network.racks is not None:
        racks, uplink = -(-servers // network.racks.size), network.racks.uplink
        stages = [LinkStage("rack up", racks, uplink), *stages, LinkStage("rack down", racks, uplink)]
    if network.nic is not None:
        out, back = (LinkStage(f"server {way}", servers, network.nic) for way in ("out", "in"))
        stages = [out, *stages, back]
    return stages


STAGES = Table[LinkStage](
    "",
    (
        Column("link", lambda stage: stage.stage),
        Column("number", lambda stage: stage.links, COUNT),
        Column("each", lambda stage: stage.each, BANDWIDTH),
        Column("together", lambda stage: stage.total_capacity, BANDWIDTH),
    ),
)


def stages_figure(stages: Sequence[LinkStage]) -> go.Figure:
    """Total capacity of each stage: traffic queues first at the narrowest."""
    chart = figure(60 + 34 * len(stages), legend=False)
    narrow = min(r.total_capacity for r in stages)
    names, gbit = [r.stage for r in stages], [r.total_capacity * 8e-9 for r in stages]
    colours = [PALETTE[2] if r.total_capacity == narrow else PALETTE[0] for r in stages]
    words = [f"{r.links:,} × {format_bandwidth(r.each)}" for r in stages]
    hover = "%{y}: %{x:,.3~r} Gbit/s in all"
    add_bars(chart, "", names, gbit, colours, hover, text=words, textposition="auto")
    chart.update_yaxes(autorange="reversed", type="category")
    chart.update_xaxes(title="capacity, Gbit/s", rangemode="tozero")
    return chart


def busiest_links(records: Sequence[Records]) -> list[simulation_charts.LinkLoad]:
    """Return the busiest links of one scheduler, averaged over its replications; empty for a single link."""
    busiest = link_utilizations(records)[:MOST_LINKS]
    return [simulation_charts.LinkLoad(link=name, utilization=share) for name, share in busiest]


def each_link(records: Sequence[Records]) -> list[simulation_charts.LinkLoad]:
    """Every link of one scheduler, averaged over its replications; none where they are too many to draw."""
    names = records[0].link_names
    if len(names) > MOST_DRAWN:
        return []
    lengths = [max(r.window_s[1] - r.window_s[0], 1e-300) for r in records]
    shares = np.mean([r.link_busy_s / n for r, n in zip(records, lengths, strict=True)], axis=0)
    return [
        simulation_charts.LinkLoad(link=n, utilization=u) for n, u in zip(names, shares.tolist(), strict=True)
    ]


def links_figure(links: Sequence[simulation_charts.LinkLoad]) -> go.Figure:
    """Utilisation of the busiest links, background included; the busiest on top."""
    chart = figure(70 + 24 * len(links), legend=False)
    names, percent = [text(r.link) for r in links], [100 * r.utilization for r in links]
    colours = [QUIET if r.link.startswith("server") else PALETTE[4] for r in links]
    add_bars(chart, "", names, percent, colours, "%{y}: %{x:.1f} %")
    chart.update_yaxes(autorange="reversed", type="category")
    chart.update_xaxes(title="utilisation, %", range=[0, 101])
    return chart


Runs = Mapping[str, Sequence[Records]]


def ecdf_series(runs: Runs, names: Sequence[str]) -> simulation_charts.Distributions:
    """Empirical distribution of the JCT.

    All replications together. Jobs that did not finish count in the denominator, so that the curve
    ends below 1 where some did not. Overloaded runs are shown as what happened in them.
    """
    return {
        scheduler: {
            "all": _ecdf(np.concatenate([r.completion_time_s for r in records])),
            **{
                name: _ecdf(np.concatenate([r.completion_time_s[r.query == j] for r in records]))
                for j, name in enumerate(names)
            },
        }
        for scheduler, records in runs.items()
    }


def _ecdf(values: Floats) -> simulation_charts.Distribution:
    done = np.sort(values[~np.isnan(values)])
    if not len(done):
        return simulation_charts.Distribution(x=(), y=())
    ranks = np.unique(np.linspace(0, len(done) - 1, min(POINTS, len(done))).round().astype(int))
    return simulation_charts.Distribution(
        x=tuple(done[ranks].tolist()), y=tuple(((ranks + 1) / len(values)).tolist())
    )


def jct_over_time(runs: Runs, most: int = 80) -> dict[str, simulation_charts.OverTime]:
    """Mean JCT of the jobs that arrived in each interval of the first replication's window."""
    return {name: _over_time(records[0], most) for name, records in runs.items() if records}


def _over_time(record: Records, most: int) -> simulation_charts.OverTime:
    done = ~np.isnan(record.completion_time_s)
    if not done.any():
        return simulation_charts.OverTime(t=(), jct_s=())
    stretches, at = IntervalMeans(min(most, int(done.sum()))), record.arrival_s[done] - record.window_s[0]
    stretches.add(at, record.completion_time_s[done])
    middle, means = stretches.means()
    return simulation_charts.OverTime(
        t=tuple((stretches.begin_s + middle).tolist()), jct_s=tuple(means.tolist())
    )


def executor_load(runs: Runs) -> dict[str, simulation_charts.ResourceLoad]:
    """Scheduler → utilisation of each executor, of the busiest links, averaged over replications."""
    load: dict[str, simulation_charts.ResourceLoad] = {}
    for scheduler, records in runs.items():
        lengths = [max(r.window_s[1] - r.window_s[0], 1e-300) for r in records]
        pairs = list(zip(records, lengths, strict=True))
        load[scheduler] = simulation_charts.ResourceLoad(
            executors=tuple(np.mean([r.executor_busy_s / n for r, n in pairs], axis=0).tolist()),
            link=float(np.mean([r.link_busy_s.max() / n for r, n in pairs])),
            links=tuple(busiest_links(records)),
            each_link=tuple(each_link(records)),
        )
    return load


def gantt_rows(runs: Runs, system: System) -> dict[str, tuple[simulation_charts.GanttBar, ...]]:
    """Scheduler → the first measured jobs' task and message intervals; times from the first request."""
    return {
        scheduler: _gantt(records[0], system)
        for scheduler, records in runs.items()
        if records and records[0].timeline and records[0].timeline.tasks
    }


def _place(system: System, executor: int) -> str:
    """Return the executor's server, and its own number where servers have several."""
    server = int(system.instance_server[executor])
    several = len(set(system.executor_server.tolist())) < system.executors
    if executor >= system.executors and system.pools:
        return f"server {server} · {system.pools.title(executor)}"
    return f"server {server} · executor {executor}" if several else f"server {server}"


def _gantt(record: Records, system: System) -> tuple[simulation_charts.GanttBar, ...]:
    timeline = record.timeline
    if timeline is None:
        return ()
    begin = min(t.ready_s for t in timeline.tasks)
    seen = Counter[tuple[int, int]]()
    tasks = [
        simulation_charts.GanttBar(
            row=_place(system, t.executor),
            job=t.job,
            model=system.queries[t.query].name,
            what=system.queries[t.query].tasks.task_ids[t.task],
            start_s=t.start_s - begin,
            end_s=t.end_s - begin,
            wait_s=t.start_s - t.ready_s,
            members=t.members,
            place=_counted(seen, t),
        )
        for t in timeline.tasks
    ]
    messages = (
        simulation_charts.GanttBar(
            row="link",
            job=m.job,
            model=system.queries[m.query].name,
            what=f"message to server {m.destination}",
            start_s=m.start_s - begin,
            end_s=m.end_s - begin,
            wait_s=m.start_s - m.request_s,
        )
        for m in timeline.messages
    )
    return (*tasks, *messages)


def _counted(seen: Counter[tuple[int, int]], task: TaskInterval) -> int:
    """Return the task's place in its batch; of one that is alone 0."""
    if task.members == 1:
        return 0
    seen[task.executor, task.step] += 1
    return seen[task.executor, task.step] - 1
