"""The report on a simulation as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nona.report.simulations.report import python_decisions
from nona.report.text import interval_text, or_dash, table
from nona.units import format_time

Row = Mapping[str, Any]
COLUMNS = ("scheduler", "JCT", "p50", "p95", "p99", "SLO hits", "compute", "link", "state")


def simulation_text(report: Row) -> str:
    """What ``nona simulate`` prints."""
    rows = [{"scheduler": name, **_row(s)} for name, s in report["schedulers"].items()]
    lines = [
        table(rows, COLUMNS),
        f"{report['engine']}, {report['seconds']:.1f} s; intervals at 95 %; checks: "
        + (
            "all passed"
            if all(report["checks"].values())
            else "FAILED: " + "; ".join(report["failed_checks"])
        ),
    ]
    lines += [f"{n}: {s['state_reason']}" for n, s in report["schedulers"].items() if s["state_reason"]]
    lines += withheld_lines(report["schedulers"])
    lines += decision_lines(report)
    lines += ["", parts_text(report["schedulers"])]
    lines += [*warmup_lines(report.get("warmup")), *precision_lines(report.get("precision"))]
    if report.get("baseline"):
        lines += ["", difference_text(report["baseline"], report["differences"])]
    return "\n".join(lines)


def _row(s: Row) -> dict[str, str]:
    return {
        "JCT": interval_text(s["jct_s"], format_time),
        **{name: percentile_text(p) for name, p in s["jct_s"]["percentiles"].items()},
        "SLO hits": interval_text(s["slo_hit_rate"], "{:.2%}".format),
        "compute": or_dash(s["utilization"]["compute"], "{:.0%}".format),
        "link": or_dash(s["utilization"]["network"], "{:.0%}".format),
        "state": s["state"],
    }


def percentile_text(percentile: Row) -> str:
    """A percentile with its interval, without one, or a dash where it is withheld.

    >>> percentile_text({"value_s": 0.25, "ci95": [0.2, 0.3]}), percentile_text({"value_s": None})
    ('250 ms ± 50 ms', '–')
    """
    if percentile["value_s"] is None:
        return "–"
    return interval_text({"mean": percentile["value_s"], "ci95": percentile["ci95"]}, format_time)


def parts_text(schedulers: Mapping[str, Row]) -> str:
    """The parts of the mean JCT of each scheduler and model as a table; the parts add up to the mean."""
    rows = []
    for name, s in schedulers.items():
        rows.append({"scheduler": name, "model": "all", "JCT": s["jct_s"]["mean"], **s["parts_s"]})
        if len(s["models"]) > 1:
            models = s["models"].items()
            rows += [{"scheduler": "", "model": m, "JCT": r["jct_s"], **r["parts_s"]} for m, r in models]
    shown = [
        {k.replace("_", " "): v if isinstance(v, str) else or_dash(v, format_time) for k, v in row.items()}
        for row in rows
    ]
    return table(shown, tuple(shown[0])) if shown else ""


def withheld_lines(schedulers: Mapping[str, Row]) -> list[str]:
    """One line for each reason why percentiles or their intervals are withheld, but for overload."""
    reasons: dict[str, None] = {}
    for s in schedulers.values():
        if s["state"] != "overloaded":
            for p in s["jct_s"]["percentiles"].values():
                reason = p["withheld"] or p["interval_withheld"]
                if reason:
                    reasons[reason] = None
    return [f"withheld: {reason}" for reason in reasons]


def decision_lines(report: Row) -> Iterator[str]:
    """The schedulers that slow the compiled engine down; nothing if there are none."""
    names = python_decisions(report)
    if names:
        yield f"decisions: {', '.join(names)} could not be compiled and ran in plain Python, which is slower"


def warmup_lines(warmup: Row | None) -> Iterator[str]:
    """The warm-up, if pilot runs determined it."""
    if not warmup or warmup["rule"] != "mser":
        return
    cuts = ", ".join(f"{n} {c['jobs']:,}" for n, c in warmup["schedulers"].items() if not c["too_short"])
    yield f"warm-up: {warmup['jobs']:,} jobs, by MSER-5 on pilot runs" + (f" ({cuts})" if cuts else "")
    if warmup["too_short"]:
        yield f"warm-up: the pilot runs of {', '.join(warmup['too_short'])} were too short; use more jobs"


def precision_lines(precision: Row | None) -> Iterator[str]:
    """Whether the precision was reached, if one was requested."""
    if not precision:
        return
    done = f"after {precision['replications']} replications"
    if precision["reached"]:
        yield f"precision: every mean has a relative half-width of {precision['target']:.3g} or less {done}"
    else:
        found = precision["relative_half_width"]
        missed = ", ".join(f"{n} ({or_dash(found[n], '±{:.1%}'.format)})" for n in precision["not_reached"])
        yield f"precision: {precision['target']:.3g} NOT reached {done} by {missed}; use more replications"


def difference_text(baseline: str, differences: Mapping[str, Row]) -> str:
    """Paired differences from the baseline as a table.

    ``saves``: how many times as many replications unpaired runs would need for the same interval.
    """
    rows = [difference_row(name, d) for name, d in differences.items()]
    title = f"minus {baseline}, on the same jobs"
    if not rows:
        return f"{title}: no other scheduler"
    return f"{title}\n" + table(rows, tuple(rows[0]))


def difference_row(name: str, difference: Row) -> dict[str, str]:
    """One row of the table of differences, as text."""
    hits = difference["slo_hit_rate"]
    return {
        "scheduler": name,
        "JCT": interval_text(difference["jct_s"], format_time),
        "change": or_dash(difference["relative"], "{:+.1%}".format),
        "verdict": difference["verdict"],
        "pairing saves": or_dash(difference["variance_reduction"], "{:.3g} ×".format),
        "correlation": or_dash(difference["correlation"], "{:.3f}".format),
        "SLO hits": interval_text(hits, "{:.2%}".format) if hits else "–",
    }
