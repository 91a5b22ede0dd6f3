"""The results of the serverless study as text, computed from its numbers."""

from __future__ import annotations

from collections.abc import Iterator

from nona.report.serverless.over.slides import claim_text, gap_rows, study_knee_rows, use_at_knee_rows
from nona.report.serverless.over.text import over_finding
from nona.report.serverless.pairs import KEYS, clear, cost_ratio, difference, mean, order, swaps
from nona.report.serverless.study.claim_forms import MATERIAL, NEAR
from nona.report.serverless.study.claims import (
    CLAIMS,
    JUST_BELOW,
    SIMILAR,
    SLOWER,
    alternative_cells,
    default_cells,
    main_cells,
    movers,
)
from nona.report.serverless.study.rows import (
    cutoff_rows,
    judged_claims,
    search_rows,
    sensitivity_rows,
    setting_rows,
    sharing_rows,
)
from nona.report.text import listed, or_dash, share_text, table
from nona.results.serverless.study import Cells, ServerlessStudy
from nona.units import format_time

OURS = (
    "Of ESG's paper only slides and summaries were available. They state 16 nodes of 16 vCPUs and 7 vGPUs, "
    "four applications, SLOs of 0.8, 1 and 1.2 L, the names of the loads, and the compared policies. "
    "Function sequences, gaps between calls, prices and cold starts are from memory; the scaling of times, "
    "transfers and the platform's rules are our choice. So agreement confirms nothing and disagreement "
    "refutes nothing: the tables show which of these assumptions the result depends on."
)
RULES = (
    f"Order: means differ by more than {MATERIAL:g} points or {SLOWER:.0%}. Size: a setting and policy "
    f"within the stated range, in points or per cent; miss rates within {NEAR:.0f} points; costs within "
    f"{SIMILAR:.0%} are similar; just below the SLO means a median from {JUST_BELOW[0]:g} to "
    f"{JUST_BELOW[1]:g} of it."
)


def title(data: ServerlessStudy) -> str:
    """The main finding in one sentence."""
    cells = main_cells(data)
    keeps = [n for n, row in cells.items() if _first(row)]
    cheap = [n for n, row in cells.items() if order(row, "costs")[0] == "esg"]
    of = len(cells)
    return (
        "Of the published policies esg keeps most SLOs, or does not differ clearly from the one that does, "
        f"in {len(keeps)} of {of} settings, and is cheapest in {len(cheap)}"
    )


def _first(row: Cells) -> bool:
    best = order(row, "hits")[0]
    return best == "esg" or not clear(difference(row[best], row["esg"], "hits"))


def findings(data: ServerlessStudy) -> list[str]:
    """The findings, one a line, the most important first."""
    lines = [_setting(name, row) for name, row in main_cells(data).items()]
    lines += [claim_text(data), *_loads(data), _agreement(data), _moved(data), _cutoff(data), _searches(data)]
    return [line for line in lines if line]


def _loads(data: ServerlessStudy) -> Iterator[str]:
    """Until which load the policies keep the target, in every setting, with the default profiles."""
    for name, report in data.curves[0].settings.items():
        yield f"{name}: {over_finding(report)}."


def _setting(name: str, row: Cells) -> str:
    told, esg = [], row["esg"]
    for policy in order(row, "hits"):
        cell = row[policy]
        cost = "" if policy == "esg" else f", {cost_ratio(cell, esg).value:.2f} times esg's cost"
        told.append(f"{policy} {share_text(mean(cell, 'hits'), 1)}{cost}")
    return f"{name}: SLOs kept: {'; '.join(told)}."


def _agreement(data: ServerlessStudy) -> str:
    cells = main_cells(data)
    agree = [c.name for c in CLAIMS if c.order(cells) and c.size(cells) is not False]
    partly = [c.name for c in CLAIMS if c.order(cells) and c.size(cells) is False]
    against = [c.name for c in CLAIMS if c.order(cells) is False]
    told = [
        f"{word}: {'; '.join(names)}"
        for word, names in (
            ("Agrees with the slides", agree),
            ("Agrees in order, not in size", partly),
            ("Does not agree", against),
        )
        if names
    ]
    return ". ".join(told) + "."


def _moved(data: ServerlessStudy) -> str:
    """The alternatives that change most verdicts, and the number that clearly change no ranking."""
    count: dict[str, int] = {}
    for claim in CLAIMS:
        for name in dict.fromkeys(alternative for alternative, _ in movers(data, claim)):
            count[name] = count.get(name, 0) + 1
    still = _still(data)
    rows = len(data.sensitivity.rows)
    if not count:
        return f"None of {rows} alternatives changes a verdict; {still} change no ranking clearly."
    most = sorted(count, key=lambda n: (-count[n], n))[:5]
    told = ", ".join(f"{n} ({count[n]})" for n in most)
    return (
        f"Of {rows} alternatives to the defaults {len(count)} change a verdict, most of all {told}; {still} "
        "change no ranking clearly."
    )


def _still(data: ServerlessStudy) -> int:
    """Alternatives under which no pair of policies clearly changes order in any setting."""
    default = default_cells(data)
    found = 0
    for row in data.sensitivity.rows:
        moved = [
            pair
            for name, cells in alternative_cells(data, row).items()
            for key in KEYS
            for pair in swaps(default[name], cells, key)
        ]
        found += not moved
    return found


def cutoff_title(data: ServerlessStudy) -> str:
    """The cut-off above which Orion's hit rate no longer grows."""
    points = data.cutoff.points
    kept = [p.slo_hit_rate.mean or 0.0 for p in points]
    best = max(kept)
    enough = next(p for p, share in zip(points, kept, strict=True) if share >= best - 0.002)
    first, last = points[0], points[-1]
    return (
        f"Orion in {data.cutoff.setting} keeps {share_text(kept[0], 1)} of the SLOs with a cut-off of "
        f"{format_time(first.cutoff_s)}, {share_text(best, 1)} from {format_time(enough.cutoff_s)} on, and "
        f"{share_text(kept[-1], 1)} with {format_time(last.cutoff_s)}"
    )


def _cutoff(data: ServerlessStudy) -> str:
    return cutoff_title(data) + "."


def _searches(data: ServerlessStudy) -> str:
    means = {n: s for n, f in data.searches.items() if (s := f.measured_s.mean)}
    if not means:
        return ""
    told = ", ".join(f"{format_time(s)} ({n})" for n, s in means.items())
    every = max(f.every_path_s for f in data.searches.values())
    return (
        f"ESG's search takes {told} on average on the machine of the study; all paths without pruning take "
        f"{format_time(every)} (slides: below 10 ms, and 7.26 s)."
    )


def miss_title(data: ServerlessStudy) -> str:
    """The deviation of the configuration misses from those of the slides."""
    cells = main_cells(data)
    near = [
        c.name.removeprefix("misses of ") for c in CLAIMS if c.name.startswith("misses of") and c.size(cells)
    ]
    if near:
        return f"Configuration misses of {listed(near)} are within {NEAR:.0f} points of the slides'"
    return f"Configuration misses differ from the slides' by more than {NEAR:.0f} points in some setting"


def provenance(data: ServerlessStudy) -> str:
    """The provenance of the numbers in one line."""
    small = data.sensitivity
    return (
        f"{data.command}: version {data.version}, {data.date}, seed {data.seed}, {data.replications} runs of "
        f"{data.calls:,} calls; alternatives {small.replications} runs of {small.calls:,} at "
        + ", ".join(f"{name} × {p.load:.3g} ({_held(p.vgpus_held)})" for name, p in data.pressed.items())
    )


def _held(share: float | None) -> str:
    return f"esg holds {or_dash(share, share_text)} of the vGPUs"


def _claim_lines(data: ServerlessStudy) -> Iterator[str]:
    for claim in judged_claims(data):
        size = "" if claim.size == "–" else f"; size: {claim.size}"
        yield f"- {claim.slides}"
        yield f"    found: {claim.found}; order: {claim.order}{size}"
        yield f"    changed by: {claim.changed_by}"


def study_text(data: ServerlessStudy) -> str:
    """What ``nona study serverless`` prints."""
    tables = [
        ("Policies in the three settings", setting_rows(data)),
        ("Until which load", study_knee_rows(data)),
        ("ESG's leads by load", gap_rows(data)),
        ("Use at the knees", use_at_knee_rows(data)),
        ("ESG's search", search_rows(data)),
        ("Orion's cut-off", cutoff_rows(data)),
        (f"Ways of sharing: {data.sharing.scenario}", sharing_rows(data)),
        *((f"Alternatives, {name}", sensitivity_rows(data, name)) for name in data.settings),
    ]
    lines = [title(data) + ".", "", *(f"- {f}" for f in findings(data))]
    lines += ["", "Comparison with the slides", *_claim_lines(data)]
    for heading, rows in tables:
        lines += ["", heading, table(rows, list(rows[0])) if rows else "–"]
    return "\n".join([*lines, "", RULES, OURS, provenance(data)])
