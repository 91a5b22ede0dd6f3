"""Text of live charts: a title with the finding for each, and the numbers as sentences."""

from __future__ import annotations

from nona.report.simulations.live.series import bin_edge_s
from nona.report.text import share_text
from nona.results.simulation.live import LiveLine, LiveLines, LiveRun
from nona.results.simulation.report import Schedulers
from nona.units import format_time


def live_titles(series: LiveLines, running: bool) -> list[str]:
    """Titles of the four charts: over time, distribution, SLO hits, utilisation.

    >>> live_titles({}, True)[0]
    'JCT over time'
    """
    plain = ["JCT over time", "Distribution of the JCT", "SLO hits", "Utilisation"]
    if not series:
        return plain
    so_far = " so far" if running else ""
    best = min(series, key=lambda n: series[n].mean_s)
    tail = {name: quantile_s(s, 0.95) for name, s in series.items()}
    short = min(tail, key=lambda n: tail[n])
    rates = {name: s.hit_rate for name, s in series.items() if s.hit_rate is not None}
    busy = {name: s.busy for name, s in series.items() if s.busy}
    alone = len(series) == 1  # nobody to be compared with
    titles = [
        f"{f'Mean of {best}' if alone else f'{best} has the lowest mean'}{so_far}: "
        f"{format_time(series[best].mean_s)}",
        f"95 % of {short}'s jobs are completed within about {format_time(tail[short])}",
        plain[2],
        plain[3],
    ]
    if rates:
        most = max(rates, key=lambda n: rates[n])
        equal = len(rates) > 1 and min(rates.values()) == rates[most]
        keeps = "SLOs that {} keeps" if alone else "All keep as many SLOs" if equal else "{} keeps most SLOs"
        titles[2] = f"{keeps.format(most)}{so_far}: {share_text(rates[most], 1)}"
    if busy:
        link = max(busy, key=lambda n: busy[n][1])
        uses = "Link under {}" if alone else "{} uses the link most"
        titles[3] = f"{uses.format(link)}{so_far}: {share_text(busy[link][1])} busy"
    return titles


def counts_text(live: LiveRun) -> str:
    """How many measured jobs of each scheduler a run that was cancelled has completed.

    >>> counts_text(LiveRun(schedulers=("nona", "local")))
    'Measured jobs that are complete: nona none, local none.'
    """
    jobs = {n: live.series[n].jobs if n in live.series else 0 for n in live.schedulers}
    told = ", ".join(f"{name} {f'{count:,}' if count else 'none'}" for name, count in jobs.items())
    return f"Measured jobs that are complete: {told}."


def measured(series: LiveLines, found: Schedulers) -> dict[str, LiveLine]:
    """The lines of a run that has ended, their use of executors and links that of the measured window.

    So that charts and tables show one number: while a run goes on, its use counts from its start.
    """
    shown = dict(series)
    for name, line in series.items():
        used = found[name].utilization if name in found else None
        if line.busy and used is not None and used.compute is not None and used.network is not None:
            shown[name] = line.model_copy(update={"busy": (used.compute, used.network)})
    return shown


def quantile_s(line: LiveLine, share: float) -> float:
    """The ``share`` quantile of the JCT in seconds, exact up to a bin's width of 9 %."""
    passed, wanted = 0, share * line.jobs
    for k, count in enumerate(line.counts):
        if passed + count >= wanted:
            return bin_edge_s(line.first + k + (wanted - passed) / max(count, 1))
        passed += count
    return bin_edge_s(line.first + len(line.counts))


def live_alts(series: LiveLines) -> list[str]:
    """The latest numbers of each chart as one sentence."""
    names = list(series)
    means = ", ".join(f"{n} {format_time(series[n].mean_s)}" for n in names)
    tails = ", ".join(f"{n} {format_time(quantile_s(series[n], 0.95))}" for n in names)
    rates = ", ".join(f"{n} {share_text(s.hit_rate, 1)}" for n, s in series.items() if s.hit_rate is not None)
    busy = ", ".join(
        f"{n} {share_text(s.busy[0])} and {share_text(s.busy[1])}" for n, s in series.items() if s.busy
    )
    return [
        f"JCT over arrival time. Means: {means or 'none yet'}.",
        f"Distribution of the JCT. 95 % of the jobs within: {tails or 'none yet'}.",
        f"SLO hit rates: {rates or 'none'}.",
        f"Executors and busiest link busy: {busy or 'none yet'}.",
    ]
