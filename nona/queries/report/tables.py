"""Tables of a simulation's results, for pages, terminals and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from nona.core.document import Estimate, Percentile
from nona.core.tables import (
    CHANGE,
    COUNT,
    FACTOR,
    KEPT,
    SHARE,
    TIME,
    Column,
    FilledTable,
    NumberKind,
    Table,
    or_dash,
    share_text,
)
from nona.core.units import format_number
from nona.queries.report import stage_loads
from nona.queries.report.batch_steps import LOAD_AND_BUSY, batch_rows
from nona.queries.report.closed_loops import LITTLE, loop_rows
from nona.queries.report.report import python_decisions
from nona.queries.report.times_off import off_lines
from nona.queries.results import (
    ComparedReport,
    CompletionParts,
    Difference,
    JobCounts,
    ModelResult,
    PartName,
    PrecisionReport,
    SchedulerResult,
    Schedulers,
    SimulationReport,
    WarmupReport,
)
from nona.scenario.values import NamedSpec

NO_PREDICTIONS: Mapping[str, float | None] = {}


@dataclass(frozen=True, slots=True)
class _Row:
    """A scheduler's figures for one model, or without one for all models together."""

    scheduler: str
    whole: SchedulerResult
    predicted: float | str | None = None
    before: float | None = None
    model: str = "all"
    one: ModelResult | None = None
    options: str = ""

    @property
    def jct(self) -> Estimate:
        return self.one.jct if self.one else self.whole.jct_s

    @property
    def percentiles(self) -> Mapping[str, Percentile]:
        return self.one.percentiles if self.one else self.whole.jct_s.percentiles

    @property
    def parts(self) -> CompletionParts:
        return self.one.parts_s if self.one else self.whole.parts_s

    @property
    def hits(self) -> Estimate:
        return Estimate(mean=self.one.slo_hit_rate, ci95=None) if self.one else self.whole.slo_hit_rate


PARTS: Mapping[PartName, str] = {
    "compute": "compute",
    "transfer": "transfer",
    "link_wait": "wait at links",
    "server_wait": "wait at servers",
    "own_wait": "wait for own tasks",
    "fill_wait": "wait for the batch to fill",
}
PERCENTILES = ("p50", "p95", "p99")


def _percentile(name: str) -> Column[_Row]:
    return Column(
        name, lambda r: r.percentiles[name].as_mean, TIME, f"jct_{name}", interval=True, decides=name == "p95"
    )


def _part(name: PartName) -> Column[_Row]:
    return Column(PARTS[name], lambda r: r.parts.by_name()[name], TIME, name, optional=name == "fill_wait")


def _jobs(heading: str, read: Callable[[JobCounts], int]) -> Column[_Row]:
    key = f"jobs_{heading.replace(' ', '_')}"
    return Column(heading, lambda r: None if r.one else read(r.whole.jobs), COUNT, key)


FIGURES = Table[_Row](
    "",
    (
        Column("scheduler", lambda r: r.scheduler, decides=True),
        Column("options", lambda r: r.options or None, decides=True, optional=True),
        Column("model", lambda r: r.model),
        Column("state", lambda r: r.whole.state),
        Column("mean JCT", lambda r: r.jct, TIME, "jct", interval=True, decides=True),
        Column("predicted", lambda r: r.predicted, TIME, decides=True),
        Column("mean JCT before", lambda r: r.before, TIME, "before", decides=True, optional=True),
        *map(_percentile, PERCENTILES),
        Column("withheld", lambda r: next((v.withheld for v in r.percentiles.values() if v.withheld), None)),
        Column("SLO hits", lambda r: r.hits, KEPT, "slo_hit_rate", interval=True, decides=True),
        Column("SLO", lambda r: r.one.slo_s if r.one else None, TIME, "slo"),
        *map(_part, PARTS),
        Column(
            "executors busy",
            lambda r: None if r.one else r.whole.utilization.compute,
            SHARE,
            "utilization_compute",
            decides=True,
        ),
        Column(
            "link busy",
            lambda r: None if r.one else r.whole.utilization.network,
            SHARE,
            "utilization_network",
            decides=True,
        ),
        _jobs("arrived", lambda jobs: jobs.arrived),
        _jobs("completed", lambda jobs: jobs.completed),
        _jobs("in flight", lambda jobs: jobs.in_flight),
        Column("replications", lambda r: r.whole.replications, COUNT),
    ),
)
RESULTS = (
    *("scheduler", "options", "state", "jct", "predicted", "before", "slo_hit_rate"),
    *(
        "utilization_compute",
        "utilization_network",
        "jct_p50",
        "jct_p95",
        "jct_p99",
        "jobs_completed",
        "jobs_in_flight",
    ),
)
"""One row per scheduler, as pages and the HTML report show it."""
SUMMARY = (
    *("scheduler", "options", "model", "state", "jct", "jct_p50", "jct_p95", "jct_p99", "slo_hit_rate"),
    *PARTS,
    *("utilization_compute", "utilization_network", "jobs_arrived", "jobs_completed", "jobs_in_flight"),
    *("replications", "slo"),
)
"""Files have for each scheduler also every model, in plain numbers."""
PRINTED = (
    *("scheduler", "jct", "jct_p50", "jct_p95", "jct_p99", "slo_hit_rate"),
    *("utilization_compute", "utilization_network", "state"),
)


def figures(
    schedulers: Schedulers,
    predicted: Mapping[str, float | None] = NO_PREDICTIONS,
    models: bool = False,
    before: Schedulers | None = None,
    entries: Iterable[NamedSpec] = (),
) -> FilledTable:
    """All figures of each scheduler, followed by those of each of its ``models`` if asked for.

    ``predicted``: a mean JCT (seconds), ``None`` where the formula says overload; ``before``: an earlier
    run, whose means stand beside; ``entries``: the schedulers as the scenario has them, with their options.
    """
    rows, options = [], {entry.name: entry.options_text for entry in entries}
    for name, whole in schedulers.items():
        mean = "overloaded" if name in predicted and predicted[name] is None else predicted.get(name)
        earlier = before[name].jct_s.mean if before and name in before else None
        rows.append(_Row(name, whole, mean, earlier, options=options.get(name, "")))
        if models:
            rows += [_Row(name, whole, model=model, one=one) for model, one in whole.models.items()]
    return FIGURES.fill(rows)


def compared_text(report: ComparedReport) -> str:
    """Format the output of ``nona simulate``."""
    more = [*off_lines(report.off), *report.advice]
    text = "\n".join([simulation_text(report), *([""] if more else []), *more])
    if not report.baseline:
        return text
    return f"{text}\n\n{difference_text(report.baseline, report.differences)}"


def simulation_text(report: SimulationReport) -> str:
    """Return the report as text: a table of the schedulers, the runs and their checks."""
    passed = all(report.checks.values())
    checks = "all passed" if passed else "FAILED: " + "; ".join(report.failed_checks)
    lines = [
        figures(report.schedulers).select(*PRINTED).text(),
        f"{report.engine}, {report.seconds:.1f} s; intervals at 95 %; checks: {checks}",
    ]
    lines += [f"{n}: {s.state_reason}" for n, s in report.schedulers.items() if s.state_reason]
    lines += withheld_lines(report.schedulers)
    lines += _decision_lines(report)
    lines += ["", parts_text(report.schedulers)]
    if report.stages:
        lines += [
            "",
            stage_loads.stage_finding(report.stages),
            stage_loads.stage_rows(report.stages).text(),
            stage_loads.ABOUT,
        ]
    if (batches := batch_rows(report.schedulers)).values:
        lines += ["", batches.text(), LOAD_AND_BUSY]
    if (loops := loop_rows(report.schedulers)).values:
        lines += ["", loops.text(), LITTLE]
    lines += [*warmup_lines(report.warmup), *precision_lines(report.precision)]
    return "\n".join(lines)


def parts_text(schedulers: Schedulers) -> str:
    """Return the parts of the mean JCT of each scheduler and model as a table.

    The parts add up to the mean.
    """
    several = any(len(s.models) > 1 for s in schedulers.values())
    return (
        figures(schedulers, models=several).select("scheduler", "model", "jct", *PARTS).text()
        if schedulers
        else ""
    )


def percentiles(schedulers: Schedulers, model: str) -> FilledTable:
    """Percentiles of the JCT of one model, or of ``"all"``, of each scheduler, and why one is withheld."""
    rows = [
        _Row(name, s) if model == "all" else _Row(name, s, model=model, one=s.models[model])
        for name, s in schedulers.items()
    ]
    return FIGURES.fill(rows).select("scheduler", *(f"jct_{p}" for p in PERCENTILES), "withheld")


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
    """Yield the schedulers that slow the compiled engine down; nothing if there are none."""
    names = python_decisions(report)
    if names:
        yield f"decisions: {', '.join(names)} could not be compiled and ran in plain Python, which is slower"


def warmup_lines(warmup: WarmupReport | None) -> Iterator[str]:
    """Yield the warm-up, if pilot runs determined it."""
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


VERDICTS = {
    "faster": "clearly faster",
    "slower": "clearly slower",
    "not told apart": "not clearly different",
}
DIFFERENCES = Table[Difference](
    "scheduler",
    (
        Column("verdict", lambda d: VERDICTS.get(d.verdict, d.verdict), decides=True),
        Column("JCT difference", lambda d: d.jct_s, TIME, interval=True, decides=True),
        Column("change", lambda d: d.relative, CHANGE, decides=True),
        # how many times as many replications unpaired runs would need for the same interval
        Column("pairing saves", lambda d: d.variance_reduction, FACTOR),
        Column("correlation", lambda d: d.correlation, NumberKind("{:.3f}".format)),
        Column("SLO hits", lambda d: d.slo_hit_rate, KEPT, interval=True),
    ),
)


def difference_text(baseline: str, differences: Mapping[str, Difference]) -> str:
    """Return the differences from a baseline as text."""
    title = f"minus {baseline}, on the same jobs"
    return (
        f"{title}\n{DIFFERENCES.fill(differences).text()}" if differences else f"{title}: no other scheduler"
    )
