"""Tables of a simulation's results, for pages, terminals and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from nona.report.means import Show, mean_text
from nona.report.simulations.report import python_decisions
from nona.report.text import or_dash, share_text, table, times_text
from nona.report.times import off_lines
from nona.results.document import Estimate
from nona.results.simulation import (
    ComparedReport,
    Difference,
    JobCounts,
    ModelResult,
    PartName,
    Parts,
    Percentile,
    PrecisionReport,
    Resources,
    SchedulerResult,
    Schedulers,
    SimulationReport,
    State,
    WarmupReport,
)
from nona.units import format_number, format_time

if TYPE_CHECKING:
    import pandas as pd


ALL = "all"
NOT_MEASURED = Resources(compute=None, network=None)  # loads of one model alone
NO_PREDICTIONS: Mapping[str, float | None] = {}


@dataclass(frozen=True, slots=True)
class ResultRow:
    """Figures of ``scheduler`` for ``model``, which is :data:`ALL` for all of them together.

    ``prediction`` is a mean JCT (seconds), ``"overloaded"``, or ``None`` where there is no formula;
    ``utilization`` and ``jobs`` are known for all models together only, ``slo_s`` for one.
    """

    scheduler: str
    model: str
    state: State
    jct: Estimate
    percentiles: Mapping[str, Percentile]
    parts: Parts
    slo_hit_rate: Estimate
    replications: int
    prediction: float | str | None = None
    slo_s: float | None = None
    utilization: Resources = NOT_MEASURED
    jobs: JobCounts | None = None


def result_rows(
    schedulers: Schedulers, predicted: Mapping[str, float | None] = NO_PREDICTIONS, models: bool = False
) -> list[ResultRow]:
    """A row for each scheduler, followed by one for each of its ``models`` if asked for."""
    rows = []
    for name, s in schedulers.items():
        rows.append(_whole(name, s, predicted))
        if models:
            rows += [_one(name, s, model, m) for model, m in s.models.items()]
    return rows


def _whole(name: str, s: SchedulerResult, predicted: Mapping[str, float | None]) -> ResultRow:
    predicted_s = predicted.get(name)
    return ResultRow(
        name,
        ALL,
        s.state,
        s.jct_s,
        s.jct_s.percentiles,
        s.parts_s,
        s.slo_hit_rate,
        s.replications,
        prediction="overloaded" if name in predicted and predicted_s is None else predicted_s,
        utilization=s.utilization,
        jobs=s.jobs,
    )


def _one(name: str, s: SchedulerResult, model: str, m: ModelResult) -> ResultRow:
    hits = Estimate(mean=m.slo_hit_rate, ci95=None)
    return ResultRow(
        name, model, s.state, m.jct, m.percentiles, m.parts_s, hits, s.replications, slo_s=m.slo_s
    )


Unit = Literal["text", "s", "rate", "share", "count"]
Value = Estimate | float | int | str | None
PARTS: Mapping[PartName, str] = {
    "compute": "compute",
    "transfer": "transfer",
    "link_wait": "wait at links",
    "server_wait": "wait at servers",
    "own_wait": "wait for own tasks",
}
PERCENTILES = ("p50", "p95", "p99")


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes
    ----------
    key
        What it is chosen by, and its name among plain numbers, there with the unit's ending.
    heading
        Its heading for people.
    unit
        ``s``: times; ``rate``: hit rates, ``share``: utilisations, both fractions; ``count``; ``text``.
    read
        Its value in a row; ``None`` where there is none.
    interval
        Whether its values are means, which may have an interval.
    """

    key: str
    heading: str
    unit: Unit
    read: Callable[[ResultRow], Value]
    interval: bool = False


def _percentile(name: str) -> Column:
    return Column(f"jct_{name}", name, "s", lambda r: r.percentiles[name].as_mean, interval=True)


def _part(name: PartName) -> Column:
    return Column(name, PARTS[name], "s", lambda r: r.parts.by_name()[name])


def _jobs(heading: str, read: Callable[[JobCounts], int]) -> Column:
    key = f"jobs_{heading.replace(' ', '_')}"
    return Column(key, heading, "count", lambda r: None if r.jobs is None else read(r.jobs))


COLUMNS: Mapping[str, Column] = {
    c.key: c
    for c in (
        Column("scheduler", "scheduler", "text", lambda r: r.scheduler),
        Column("model", "model", "text", lambda r: r.model),
        Column("state", "state", "text", lambda r: r.state),
        Column("jct", "mean JCT", "s", lambda r: r.jct, interval=True),
        Column("jct_mean", "JCT", "s", lambda r: r.jct.mean),
        Column("predicted", "predicted", "s", lambda r: r.prediction),
        *map(_percentile, PERCENTILES),
        Column("slo_hit_rate", "SLO hits", "rate", lambda r: r.slo_hit_rate, interval=True),
        Column("slo", "SLO", "s", lambda r: r.slo_s),
        *map(_part, PARTS),
        Column("utilization_compute", "executors", "share", lambda r: r.utilization.compute),
        Column("utilization_network", "link", "share", lambda r: r.utilization.network),
        _jobs("arrived", lambda jobs: jobs.arrived),
        _jobs("completed", lambda jobs: jobs.completed),
        _jobs("in flight", lambda jobs: jobs.in_flight),
        Column("replications", "replications", "count", lambda r: r.replications),
    )
}


def columns(*wanted: str | tuple[str, str]) -> tuple[Column, ...]:
    """Columns by their keys, each as it is or, as (key, heading), under another heading.

    >>> [c.heading for c in columns("scheduler", ("jct", "JCT"))]
    ['scheduler', 'JCT']
    """
    return tuple(COLUMNS[w] if isinstance(w, str) else replace(COLUMNS[w[0]], heading=w[1]) for w in wanted)


def headings(chosen: tuple[Column, ...]) -> tuple[str, ...]:
    """Their headings, in order."""
    return tuple(c.heading for c in chosen)


RESULTS = columns(
    "scheduler",
    "state",
    "jct",
    "predicted",
    "slo_hit_rate",
    "utilization_compute",
    "utilization_network",
    "jct_p50",
    "jct_p95",
    "jct_p99",
    "jobs_completed",
    "jobs_in_flight",
)
"""One row per scheduler, as pages and the HTML report show it."""

Count = TypeVar("Count", covariant=True)


@dataclass(frozen=True, slots=True)
class Style(Generic[Count]):
    """Formats of one place for hit rates, utilisations and counts; times are written alike everywhere."""

    rate: Show
    share: Show
    count: Callable[[int], Count]

    def cell(self, value: Value, unit: Unit) -> str | Count:
        """A value as this place writes it; a dash where there is none."""
        if value is None:
            return "–"
        if isinstance(value, str):
            return value
        if unit == "count" and isinstance(value, int):
            return self.count(value)
        show = {"rate": self.rate, "share": self.share}.get(unit, format_time)
        return mean_text(value, show) if isinstance(value, Estimate) else show(value)


def text_rows(
    rows: Sequence[ResultRow], chosen: Sequence[Column], style: Style[Count]
) -> list[dict[str, str | Count]]:
    """Heading → cell of every row; a dash where there is no value."""
    return [{c.heading: style.cell(c.read(row), c.unit) for c in chosen} for row in rows]


def _number_table(rows: Sequence[ResultRow], chosen: Sequence[Column]) -> pd.DataFrame:
    """Plain numbers: times in seconds (``…_s``), fractions, counts; what has no value is missing.

    A column of means gives three: the mean, and the bounds ``…_low`` and ``…_high`` of its interval.
    """
    import pandas as pd

    cells = [{k: v for c in chosen for k, v in _numbers(c, row).items()} for row in rows]
    names = [k for c in chosen for k in _names(c)]
    numbers = {k: "float64" for c in chosen if c.unit != "text" for k in _names(c)}
    return pd.DataFrame(cells, columns=names).astype(numbers)


def _names(column: Column) -> tuple[str, ...]:
    unit = "_s" if column.unit == "s" else ""
    ends = ("", "_low", "_high") if column.interval else ("",)
    return tuple(f"{column.key}{end}{unit}" for end in ends)


def _numbers(column: Column, row: ResultRow) -> dict[str, float | int | str | None]:
    value = column.read(row)
    if isinstance(value, Estimate):
        low, high = value.ci95 or (None, None)
        return dict(zip(_names(column), (value.mean, low, high), strict=True))
    return {_names(column)[0]: value}


SUMMARY = columns(
    "scheduler",
    "model",
    "state",
    "jct",
    "jct_p50",
    "jct_p95",
    "jct_p99",
    "slo_hit_rate",
    *PARTS,
    "utilization_compute",
    "utilization_network",
    "jobs_arrived",
    "jobs_completed",
    "jobs_in_flight",
    "replications",
    "slo",
)


def summary_table(report: SimulationReport) -> pd.DataFrame:
    """One row per scheduler for all models together (``model`` is ``all``), then one per model.

    Times in seconds, rates and utilisations as fractions; what has no value is missing. ``*_low`` and
    ``*_high`` bound the 95 % interval.
    """
    return _number_table(result_rows(report.schedulers, models=True), SUMMARY)


RESULT_COLUMNS = columns(
    "scheduler",
    ("jct", "JCT"),
    "jct_p50",
    "jct_p95",
    "jct_p99",
    "slo_hit_rate",
    ("utilization_compute", "compute"),
    "utilization_network",
    "state",
)
PRINTED_PARTS = columns(
    "scheduler",
    "model",
    "jct_mean",
    "compute",
    "transfer",
    ("link_wait", "link wait"),
    ("server_wait", "server wait"),
    ("own_wait", "own tasks"),
)
STYLE = Style(partial(share_text, digits=2), share_text, "{:,}".format)


def compared_text(report: ComparedReport) -> str:
    """Format the output of ``nona simulate``."""
    more = [*off_lines(report.off), *report.advice]
    text = "\n".join([simulation_text(report), *([""] if more else []), *more])
    if not report.baseline:
        return text
    return f"{text}\n\n{difference_text(report.baseline, report.differences)}"


def simulation_text(report: SimulationReport) -> str:
    """The report without differences."""
    passed = all(report.checks.values())
    checks = "all passed" if passed else "FAILED: " + "; ".join(report.failed_checks)
    lines = [
        table(text_rows(result_rows(report.schedulers), RESULT_COLUMNS, STYLE), headings(RESULT_COLUMNS)),
        f"{report.engine}, {report.seconds:.1f} s; intervals at 95 %; checks: {checks}",
    ]
    lines += [f"{n}: {s.state_reason}" for n, s in report.schedulers.items() if s.state_reason]
    lines += withheld_lines(report.schedulers)
    lines += _decision_lines(report)
    lines += ["", parts_text(report.schedulers)]
    lines += [*warmup_lines(report.warmup), *precision_lines(report.precision)]
    return "\n".join(lines)


def percentile_text(percentile: Percentile) -> str:
    """A percentile with its interval, without one, or a dash where it is withheld.

    >>> percentile_text(Percentile(value_s=0.25, ci95=(0.2, 0.3), withheld=None, interval_withheld=None))
    '250 ms ± 50 ms'
    """
    return mean_text(percentile.as_mean, format_time)


def parts_text(schedulers: Schedulers) -> str:
    """The parts of the mean JCT of each scheduler and model as a table; the parts add up to the mean."""
    rows: list[ResultRow] = []
    for name, s in schedulers.items():
        own = result_rows({name: s}, models=len(s.models) > 1)
        rows += [own[0], *(replace(r, scheduler="") for r in own[1:])]
    return table(text_rows(rows, PRINTED_PARTS, STYLE), headings(PRINTED_PARTS)) if rows else ""


def withheld_lines(schedulers: Schedulers) -> list[str]:
    """One line for each reason why percentiles or their intervals are withheld, but for overload."""
    reasons: dict[str, None] = {}
    for s in schedulers.values():
        if not s.overloaded:
            for p in s.jct_s.percentiles.values():
                reason = p.withheld or p.interval_withheld
                if reason:
                    reasons[reason] = None
    return [f"withheld: {reason}" for reason in reasons]


def _decision_lines(report: SimulationReport) -> Iterator[str]:
    """The schedulers that slow the compiled engine down; nothing if there are none."""
    names = python_decisions(report)
    if names:
        yield f"decisions: {', '.join(names)} could not be compiled and ran in plain Python, which is slower"


def warmup_lines(warmup: WarmupReport | None) -> Iterator[str]:
    """The warm-up, if pilot runs determined it."""
    if not warmup or warmup.rule != "mser":
        return
    cuts = ", ".join(f"{n} {c.jobs:,}" for n, c in warmup.schedulers.items() if not c.too_short)
    yield f"warm-up: {warmup.jobs:,} jobs, by MSER-5 on pilot runs" + (f" ({cuts})" if cuts else "")
    if warmup.too_short:
        yield f"warm-up: the pilot runs of {', '.join(warmup.too_short)} were too short; use more jobs"


def precision_lines(precision: PrecisionReport | None) -> Iterator[str]:
    """State whether the requested precision was reached; nothing if none was requested."""
    if not precision:
        return
    done = f"after {precision.replications} replications"
    if precision.reached:
        yield (
            f"precision: every mean has a relative half-width of {format_number(precision.target)} or "
            f"less {done}"
        )
    else:
        half_widths = precision.relative_half_width
        missed = ", ".join(f"{n} (± {or_dash(half_widths[n], _tenths)})" for n in precision.not_reached)
        yield (
            f"precision: {format_number(precision.target)} NOT reached {done} by {missed}; use more "
            "replications"
        )


def _tenths(share: float) -> str:
    return share_text(share, 1)


def difference_text(baseline: str, differences: Mapping[str, Difference]) -> str:
    """Paired differences from the baseline as a table.

    ``saves``: how many times as many replications unpaired runs would need for the same interval.
    """
    rows = [difference_row(name, d) for name, d in differences.items()]
    title = f"minus {baseline}, on the same jobs"
    if not rows:
        return f"{title}: no other scheduler"
    return f"{title}\n" + table(rows, tuple(rows[0]))


VERDICTS = {
    "faster": "clearly faster",
    "slower": "clearly slower",
    "not told apart": "not clearly different",
}


def difference_row(name: str, difference: Difference) -> dict[str, str]:
    """One row of the table of differences, as text."""
    hits = difference.slo_hit_rate
    return {
        "scheduler": name,
        "JCT difference": mean_text(difference.jct_s, format_time),
        "change": or_dash(difference.relative, partial(share_text, digits=1, sign="+")),
        "verdict": VERDICTS.get(difference.verdict, difference.verdict),
        "pairing saves": or_dash(difference.variance_reduction, times_text),
        "correlation": or_dash(difference.correlation, "{:.3f}".format),
        "SLO hits": mean_text(hits, partial(share_text, digits=2)) if hits else "–",
    }
