"""A workload: the load it offers, a sample of its arrivals, what is replayed of a trace."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nona.core.arrays import Bools, Floats, Ints
from nona.core.random_streams import RandomStreams
from nona.core.units import format_number, format_time
from nona.queries.placement.capacity import ExecutorLoads
from nona.scenario.arrivals import Arrivals, arrival_chunks, cycle_s, effective_rate


@dataclass(frozen=True, slots=True)
class OfferedLoad:
    """Utilisations by background and by the queries of the mix.

    ``best`` is that of the busiest kind of executor where queries are shared out so that it is least;
    ``even`` that of ``kind``, the fullest where every executor is drawn alike, as ``local`` does.
    ``shares`` are those of the rows in the work of ``kind``.
    """

    background: float
    best: float
    even: float
    kind: str
    shares: tuple[float, ...]
    busy: float | None = None
    """With batches that begin at once: about how busy an executor of ``kind`` is, drawn alike."""
    batches: bool = False
    """Whether executors take tasks in batches: the load is that of full ones."""
    host: tuple[str, float] | None = None
    """The stage whose processes of the host are the fullest, and their load."""

    @property
    def text(self) -> str:
        """Background and queries together, from ``best`` to ``even`` where they differ."""
        best, even = (_percent(self.background + q) for q in (self.best, self.even))
        return even if best == even else f"{best.removesuffix(' %')} to {even}"


def offered_load(
    rates: Sequence[float],
    seconds: Floats,
    counts: Mapping[str, int],
    fits: Bools,
    background: float,
) -> OfferedLoad:
    """Return the load on the kinds of executors, whose numbers are ``counts``.

    ``rates`` (J,): λ_j, 1/s. ``seconds`` (J, K): seconds of one query of each row on each kind of executor.
    ``fits`` (J, K): whether the weights of a row fit there.

    >>> fits = np.ones((1, 2), dtype=bool)
    >>> load = offered_load([60.0], np.array([[0.01, 0.02]]), {"a100": 1, "t4": 1}, fits, 0.2)
    >>> load.kind, load.even, round(load.best, 6)
    ('t4', 0.6, 0.4)
    """
    number = np.array(list(counts.values()), dtype=float)
    work = np.array(rates)[:, None] * seconds
    holders = np.where(fits, number, 0.0).sum(axis=1, keepdims=True)
    even = np.divide(work, holders, out=np.zeros(work.shape), where=fits)
    k = int(even.sum(axis=0).argmax())
    total = float(even[:, k].sum())
    shares = even[:, k] / total if total > 0 else np.full(len(work), 1 / len(work))
    peak, _ = ExecutorLoads(work / number, fits, background).least_peak()
    return OfferedLoad(background, peak - background, total, list(counts)[k], tuple(shares.tolist()))


def busy_in_batches(rates: Sequence[float], step_s: Sequence[Floats], steps: int = 6000) -> float:
    """About the share of the time in which an executor works that takes what waits in batches, greedily.

    A small simulation of Poisson arrivals, always the same: the oldest waiting query decides the row of a
    batch. ``rates``: λ_j of one executor, 1/s. ``step_s``: of each row the seconds of 1, …, B queries.

    >>> round(busy_in_batches([20.0], [np.array([0.02])]), 1), busy_in_batches([0.0], [np.ones(1)])
    (0.4, 0.0)
    """
    if sum(rates) <= 0:
        return 0.0
    random = np.random.default_rng(0)
    waiting = [deque[float]() for _ in rates]
    coming = [float(random.exponential(1 / r)) if r > 0 else math.inf for r in rates]
    now = busy = 0.0
    for _ in range(steps):
        if not any(waiting):
            now = max(now, min(coming))
        for j, rate in enumerate(rates):
            while coming[j] <= now:
                waiting[j].append(coming[j])
                coming[j] += float(random.exponential(1 / rate))
        row = min((j for j, own in enumerate(waiting) if own), key=lambda j: waiting[j][0])
        members = min(len(waiting[row]), len(step_s[row]))
        for _ in range(members):
            waiting[row].popleft()
        now, busy = now + float(step_s[row][members - 1]), busy + float(step_s[row][members - 1])
    return busy / now


def host_text(stage: str, load: float) -> str:
    """Say how full the processes of a stage on the host are.

    >>> host_text("scan", 0.09)
    'Host processes of scan: 9 % busy; at best 11.1 times the rate saturates them.'
    >>> host_text("scan", 1.25)
    'Host processes of scan: load 125 %, overloaded; at best 0.8 times the rate saturates them.'
    """
    busy = f"{_percent(load)} busy" if load < 1 else f"load {_percent(load)}, overloaded"
    most = f"at best {format_number(1 / load)} times the rate saturates them" if load > 0 else ""
    return f"Host processes of {stage}: {busy}; {most or 'queries send nothing'}."


def load_text(
    what: str,
    background: float,
    least: float,
    most: float | None = None,
    busy: float | None = None,
    batches: bool = False,
) -> str:
    """Return a sentence on the utilisation of a resource and the rates that would saturate it.

    The queries take ``least`` of it at best, and ``most`` where executors are drawn alike. ``busy``: with
    batches, in which the queries need that, the share of the time in which they work now; ``batches``: so it
    is, but that share is not known. What they take of the link is that of the last placement.

    >>> load_text("executors", 0.2, 0.4)
    'The mix and the background fill 60 % of the executors; 2 times the rate saturates them.'
    >>> load_text("executors", 0.0, 0.2, 0.4)
    'The mix fills 20 % of the fullest executors at best, 40 % under local, which picks them at random; \
5 times the rate saturates them at best, 2.5 times under local.'
    >>> load_text("link", 0.0, 0.3), load_text("link", 0.0, 1.5)
    ('As last placed, the mix fills 30 % of the link; 3.33 times the rate saturates it.', \
'As last placed, the mix asks for 150 % of the link: it is overloaded; 0.667 times the rate saturates it.')
    >>> load_text("executors", 0.0, 0.237, busy=0.695)
    'In full batches the mix would need 23.7 % of the executors, which are busy about 70 % of the time now, \
in smaller ones; 4.22 times the rate saturates them.'
    >>> load_text("executors", 0.0, 0.371, batches=True)
    'In full batches the mix would need 37.1 % of the executors; 2.7 times the rate saturates them.'
    """
    pronoun, several = "it" if what == "link" else "them", most is not None and most > 1.005 * least
    factors = [(1 - background) / q if q > 0 else math.inf for q in (least, least if most is None else most)]
    who, s = ("The mix and the background", "") if background > 0 else ("The mix", "s")
    who = f"As last placed, {who[0].lower()}{who[1:]}" if what == "link" else who
    tail = "queries send nothing"
    if math.isfinite(factors[0]):
        tail = f"{format_number(factors[0])} times the rate saturates {pronoun}"
        tail += f" at best, {format_number(factors[1])} times under local" if several else ""
    if background + least >= 1:
        state = "it is overloaded" if what == "link" else "they are overloaded"
        return f"{who} ask{s} for {_percent(background + least)} of the {what}: {state}; {tail}."
    if busy is not None or batches:
        need = _percent(background + least)
        need = f"In full batches {who[0].lower()}{who[1:]} would need {need} of the {what}"
        if busy is None:
            return f"{need}; {tail}."
        now = f"busy about {format_number(100 * min(busy, 1.0), 2)} % of the time now, in smaller ones"
        return f"{need}, which are {now}; {tail}."
    blind = ""
    if most is not None and several:
        what = f"fullest {what}"
        blind = f" at best, {_percent(background + most)} under local, which picks them at random"
    return f"{who} fill{s} {_percent(background + least)} of the {what}{blind}; {tail}."


def _percent(share: float) -> str:
    return f"{format_number(100 * share)} %"


def slo_text(bounds: Mapping[str, float], total_s: float, critical_s: float, varies: bool) -> tuple[str, str]:
    """Judge the tightest bound on a query on an idle cluster: ``ok``, ``split`` or ``never``, and a sentence.

    ``bounds``: its name, ``SLO``, ``mean`` or ``p95``, → seconds. ``total_s``: a query on one idle executor;
    ``critical_s``: its longest chain, which no placement goes below; ``varies``: service times are drawn, so
    these are means.

    >>> [slo_text({"SLO": s}, 0.022, 0.014, False)[0] for s in (0.01, 0.02)]
    ['never', 'split']
    >>> slo_text({"SLO": 0.05, "p95": 0.03}, 0.022, 0.014, False)[1].partition(". ")[2]
    'The p95 of 30 ms leaves 8 ms for waits on one server.'
    """
    alone, chain = format_time(total_s), format_time(critical_s)
    possible = f"A query takes {alone} on one idle GPU or slice, and at least {chain} in any placement"
    if not bounds:
        return "ok", f"{possible}. No SLO and no target is set."
    name, bound_s = min(bounds.items(), key=lambda pair: pair[1])
    bound = f"{name} of {format_time(bound_s)}"
    if bound_s < critical_s:
        word = "rarely" if varies else "never"
        return "never", (
            f"The {bound} can {word} be met: the longest chain alone takes {chain} on an idle GPU or slice. "
            f"Raise the {name}, or choose a faster GPU or a smaller model."
        )
    if bound_s < total_s:
        return "split", (
            f"{possible}. One server alone misses the {bound}; only a query that is split can meet it."
        )
    return "ok", f"{possible}. The {bound} leaves {format_time(bound_s - total_s)} for waits on one server."


BINS, GAP_BINS, LARGEST_GAP = 60, 32, 4.0
WINDOW_GAPS, LEAST_GAPS, MOST = 120, 3000, 20_000
MOST_SEEN = 400_000  # arrivals in which a burst is looked for
CYCLES = 4  # of bursts that are shown
LEAST_WINDOWS = 20  # whose counts give an index of dispersion


@dataclass(frozen=True, eq=False)
class ArrivalSample:
    """Arrivals of replication 0: a stretch that has a burst where there are bursts.

    ``counts`` (BINS,): arrivals in each piece of the ``window_s`` seconds from ``begin_s`` on.
    ``density`` (GAP_BINS,): density of gap · rate over [0, LARGEST_GAP); larger gaps are in ``beyond`` (a
        share).
    ``cv``: coefficient of variation of the gaps in the sample; 1 for a Poisson process in the long run.
    ``index``: index of dispersion of the arrivals in ``scale_s`` seconds, where it is largest: the variance
        of their number over its mean; 1 for a Poisson process.
    """

    begin_s: float
    window_s: float
    counts: Ints
    density: Floats
    beyond: float
    cv: float
    index: float
    scale_s: float


def arrival_sample(arrivals: Arrivals, rate: float, seed: int, name: str) -> ArrivalSample:
    """Sample the process of one class as the simulation's first replication does.

    ``rate``: mean arrivals, 1/s. ``seed``, ``name``: the scenario's seed, and the class's name: they name the
    stream.

    Raises ``SimulationError`` for a process that cannot be.

    >>> sample = arrival_sample(Arrivals("deterministic"), 10.0, 7, "x")
    >>> round(sample.cv, 6), int(sample.counts.sum())
    (0.0, 120)
    """
    mean_rate = effective_rate(arrivals, rate)
    cycle = cycle_s(arrivals, rate)
    window = max(WINDOW_GAPS / mean_rate, min(_shown_s(arrivals, cycle), MOST_SEEN / mean_rate / 2))
    times = _instants(arrivals, rate, RandomStreams(seed).generator("arrivals", name), 2 * window)
    gaps = np.diff(times[: max(MOST, LEAST_GAPS)]) * mean_rate
    density, _ = np.histogram(gaps, bins=GAP_BINS, range=(0.0, LARGEST_GAP))
    begin = _begin_s(times, window) if arrivals.process == "mmpp" else 0.0
    place = np.floor((times - begin) * (BINS / window) + 1e-9)  # a trace begins again at the window's end
    counts = np.bincount(place[(place >= 0) & (place < BINS)].astype(np.int64), minlength=BINS)
    spread = float(gaps.std() / gaps.mean()) if gaps.mean() > 0 else 0.0
    beyond = float((gaps > LARGEST_GAP).mean())
    scale = GAP_BINS / (LARGEST_GAP * max(len(gaps), 1))
    index, scale_s = bursts_index(arrivals, mean_rate) if arrivals.process == "mmpp" else dispersion(times)
    return ArrivalSample(
        begin, window, counts.astype(np.int64), density * scale, beyond, spread, index, scale_s
    )


def _shown_s(arrivals: Arrivals, cycle: float) -> float:
    """Return some cycles of bursts, or a whole trace."""
    return cycle if arrivals.process == "trace" else CYCLES * cycle


def _instants(arrivals: Arrivals, rate: float, rng: np.random.Generator, until_s: float) -> Floats:
    chunks, parts, count = arrival_chunks(arrivals, rate, rng), list[Floats](), 0
    while count < LEAST_GAPS or (parts[-1][-1] < until_s and count < MOST_SEEN):
        parts.append(next(chunks))
        count += len(parts[-1])
    return np.concatenate(parts)


def _begin_s(times: Floats, window: float) -> float:
    """Where to begin so that the fullest piece lies within: at 0 where the first window has such a one."""
    pieces = np.bincount((times * (BINS / window)).astype(np.int64))
    first = pieces[:BINS]
    if first.max() >= 0.8 * pieces.max():
        return 0.0
    return float(max(0.0, int(pieces.argmax()) - BINS // 2) * window / BINS)


def dispersion(times: Floats) -> tuple[float, float]:
    """Return the largest index of dispersion over windows of 4, 8, 16 … gaps, and their length, s.

    That is the variance of the arrivals in a window over their mean. Slow changes of the rate, of which gaps
    tell nothing, show in it. Each length has at least 20 windows.

    >>> found = dispersion(np.arange(4000.0))
    >>> found[0] < 0.1
    True

    Source: Gusella, Characterizing the variability of arrival processes with indexes of dispersion, IEEE
    Journal on Selected Areas in Communications 9, 1991.
    """
    gap, best = float(times[-1] - times[0]) / max(len(times) - 1, 1), (0.0, 0.0)
    length = 4 * gap
    while gap > 0 and (windows := int((times[-1] - times[0]) / length)) >= LEAST_WINDOWS:
        place = ((times - times[0]) / length).astype(np.int64)
        counts = np.bincount(place[place < windows], minlength=windows)
        best = max(best, (float(counts.var(ddof=1) / counts.mean()), length))
        length *= 2
    return best


def bursts_index(arrivals: Arrivals, rate: float) -> tuple[float, float]:
    """Return the dispersion of Markov-modulated arrivals over a cycle of bursts, and the cycle, s.

    Formula: 1 + 2σ₁σ₂(λ₁−λ₂)²/(s²·(λ₁σ₂+λ₂σ₁)) · (1 − (1−e^(−st))/(st)), with the rates λ of the two states,
    σ at which they are left, s = σ₁+σ₂, and t the cycle.

    Source: Heffes and Lucantoni, A Markov modulated characterization of packetized voice and data traffic,
    IEEE Journal on Selected Areas in Communications 4, 1986.
    """
    fraction, factor, burst_s = arrivals.burst_fraction, arrivals.burst_factor, arrivals.burst_mean_s
    high, low = rate * factor, rate * (1 - fraction * factor) / (1 - fraction)
    leave, come, cycle = 1 / burst_s, fraction / (burst_s * (1 - fraction)), burst_s / fraction
    total = leave + come
    most = 2 * leave * come * (high - low) ** 2 / (total**2 * (high * come + low * leave))
    return 1 + most * (1 + math.expm1(-total * cycle) / (total * cycle)), cycle


def regularity(sample: ArrivalSample, arrivals: Arrivals) -> str:
    """Return the arrivals in words: bursts as they are given, else how their numbers and gaps vary.

    >>> given = Arrivals("mmpp")
    >>> regularity(arrival_sample(given, 10.0, 7, "x"), given)
    'bursts of 3 times the rate for 10 s, in 10 % of the time: 74 times the variance of Poisson over 100 s'
    >>> [regularity(arrival_sample(a, 10.0, 7, "x"), a) for a in (Arrivals(), Arrivals("deterministic"))]
    ['about Poisson', 'more regular than Poisson']
    """
    over = f"{format_number(sample.index, 2)} times the variance of Poisson over "
    over += format_time(sample.scale_s, 2)
    if arrivals.process == "mmpp":
        times = (
            f"{format_number(arrivals.burst_factor)} times the rate for {format_time(arrivals.burst_mean_s)}"
        )
        return f"bursts of {times}, in {_percent(arrivals.burst_fraction)} of the time: {over}"
    if sample.index > BURSTY or sample.cv > 1.25:
        return f"burstier than Poisson: {over}" if sample.index > BURSTY else "burstier than Poisson"
    return "more regular than Poisson" if sample.cv < 0.8 else "about Poisson"


BURSTY = 2.2  # an index of 20 windows of Poisson arrivals exceeds it about once in 1,000


def coverage_text(jobs: int, rate: float, period_s: float) -> str:
    """State the share of a trace of ``period_s`` that a run of ``jobs`` replays, at ``rate`` jobs/s in all.

    >>> coverage_text(265, 10.0, 3600.0)
    'A run of 265 jobs, all rows together, lasts about 26.5 s: it replays 0.736 % of these 3,600 s.'
    >>> coverage_text(72_000, 10.0, 3600.0)
    'A run of 72,000 jobs, all rows together, lasts about 7,200 s: it replays these 3,600 s 2 times.'
    """
    lasts = jobs / rate if rate > 0 else math.inf
    share = lasts / period_s
    done = (
        f"{format_number(100 * share)} % of these {_seconds(period_s)}"
        if share < 1
        else f"these {_seconds(period_s)} {format_number(share)} times"
    )
    return f"A run of {jobs:,} jobs, all rows together, lasts about {_seconds(lasts)}: it replays {done}."


def jobs_for_all(rate: float, period_s: float) -> int:
    """Jobs of all rows that arrive within ``period_s``."""
    return max(1, math.ceil(rate * period_s - 1e-9))


def _seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 100 else format_time(value)
