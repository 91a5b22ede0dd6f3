"""Numbers of training clusters as text: long times, gains, jobs."""

from __future__ import annotations

from collections.abc import Mapping

from nona.report.text import counted
from nona.results.training.report import JctSummary, PolicyOutcome
from nona.scenario.training import TrainingSpec

HOUR_S = 3600.0


def hours_text(seconds: float | None) -> str:
    """A time of seconds to months with three digits.

    >>> hours_text(90.0), hours_text(5400.0), hours_text(9000.0), hours_text(1.8e6), hours_text(None)
    ('90 s', '90 min', '2.5 h', '500 h', '–')
    """
    if seconds is None:
        return "–"
    if abs(seconds) < 120:
        return f"{seconds:.3g} s"
    if abs(seconds) < 2 * HOUR_S:
        return f"{seconds / 60:.3g} min"
    hours = seconds / HOUR_S
    return f"{hours:,.0f} h" if abs(hours) >= 1000 else f"{hours:.3g} h"


def jct_text(jct: JctSummary) -> str:
    """The mean JCT with its interval in the same unit.

    >>> jct_text(JctSummary(mean=9000.0, ci95=(8640.0, 9360.0), p50=None, p95=None, p99=None))
    '2.5 ± 0.1 h'
    """
    shown = hours_text(jct.mean)
    if jct.mean is None or jct.ci95 is None or jct.ci95[0] == jct.ci95[1]:
        return shown
    unit = shown.rpartition(" ")[2]
    per = {"s": 1.0, "min": 60.0, "h": HOUR_S}[unit]
    half = (jct.ci95[1] - jct.ci95[0]) / 2
    return f"{shown.removesuffix(unit).strip()} ± {half / per:.2g} {unit}"


def overlap(a: JctSummary, b: JctSummary) -> bool:
    """Whether the intervals of two mean JCTs overlap; one that is known exactly has no width."""
    spans = [jct.ci95 or (jct.mean or 0.0,) * 2 for jct in (a, b)]
    widths = [high - low for low, high in spans]
    return any(widths) and max(low for low, _ in spans) <= min(high for _, high in spans)


def dollars_text(usd: float | None) -> str:
    """US dollars with three digits, zeros at the end too, so that bills side by side look alike.

    >>> dollars_text(3.14159), dollars_text(18.0), dollars_text(12345.6), dollars_text(None)
    ('$3.14', '$18.0', '$12,346', '–')
    """
    if usd is None:
        return "–"
    digits = next((d for d, limit in ((2, 9.995), (1, 99.95)) if abs(usd) < limit), 0)
    return f"${usd:,.{digits}f}"


def job_label(name: str) -> str:
    """A job's name where nothing else says that it is one: a number is no name.

    >>> job_label("17"), job_label("vision 1")
    ('job 17', 'vision 1')
    """
    return f"job {name}" if name.isdigit() else name


def times_text(ratio: float) -> str:
    """How many times as much.

    >>> times_text(1.503), times_text(12.04)
    ('1.50 ×', '12.0 ×')
    """
    return f"{ratio:.{2 if ratio < 10 else 1}f} ×"


def by_mean_jct(policies: Mapping[str, PolicyOutcome]) -> dict[str, float]:
    """Name → mean JCT in seconds, the shortest first; those that completed no job are left out."""
    known = {n: p.jct_s.mean for n, p in policies.items() if p.jct_s.mean is not None}
    return dict(sorted(known.items(), key=lambda row: (row[1], row[0])))


def jobs_text(spec: TrainingSpec) -> str:
    """Which jobs a scenario has.

    >>> jobs_text(TrainingSpec(trace="week.trace"))
    'training jobs of week.trace'
    """
    if spec.elastic is not None:
        load = f" at load {spec.elastic.load:g}" if spec.elastic.load != 1 else ""
        return f"elastic jobs of {'workload ' if spec.elastic.shipped else ''}{spec.elastic.workload}{load}"
    if spec.trace is not None:
        return f"training jobs of {spec.trace}"
    if spec.generate is not None:
        return counted(spec.generate.jobs, "training job")
    training = sum(job.kind == "training" for job in spec.jobs)
    others = len(spec.jobs) - training
    return counted(training, "training job") + (f" + {counted(others, 'other')}" if others else "")
