"""The claims of the slides on ESG that a simulation can check, each judged from numbers.

A claim has an *order* (who is better, what grows) and mostly a *size* (by how much). Each is a function of
the cells of a study, setting → policy → cell, so that it can be judged again under every alternative.
"""

from __future__ import annotations

from collections.abc import Iterator

from nona.report.serverless.pairs import mean
from nona.report.serverless.study.claim_forms import (
    MATERIAL,
    RELAXED,
    STRICT,
    Claim,
    Verdict,
    missed,
    misses,
    more_hits,
)
from nona.results.serverless.study import AlternativeCells, Cells, ServerlessStudy, SettingCells
from nona.units import format_time

BRUTE_FORCE_S = 7.258
SEARCH_S = 0.010
SLOWER = 0.02  # relative: latencies and searches closer than that are not "longer"
SIMILAR = 0.05  # relative: costs that close are "similar"
JUST_BELOW = (0.8, 1.0)  # median latency / SLO that is "just below but close"


def _ratios(cells: SettingCells) -> list[tuple[float, str, str]]:
    """(cost over ESG's, policy, setting)."""
    return [
        (mean(row[other], "costs") / mean(row["esg"], "costs"), other, name)
        for name, row in cells.items()
        for other in row
        if other != "esg"
    ]


def _costs_told(cells: SettingCells) -> str:
    found = _ratios(cells)
    return (
        f"others cost {min(found)[0]:.2f} ({min(found)[1]}, {min(found)[2]}) to {max(found)[0]:.2f} times as "
        f"much ({max(found)[1]}, {max(found)[2]})"
    )


def _dearest(cells: SettingCells) -> dict[str, str]:
    return {name: max(row, key=lambda p: mean(row[p], "costs")) for name, row in cells.items()}


def _dearest_told(cells: SettingCells) -> str:
    return "the most expensive: " + ", ".join(f"{p} ({name})" for name, p in _dearest(cells).items())


def _fills(cells: SettingCells) -> list[float]:
    return [f for f in cells[RELAXED]["esg"].fill if f is not None] if RELAXED in cells else []


def _just_below(cells: SettingCells) -> Verdict:
    fills = _fills(cells)
    return all(JUST_BELOW[0] <= f <= JUST_BELOW[1] for f in fills) if fills else None


def _just_below_told(cells: SettingCells) -> str:
    fills = _fills(cells)
    return f"median latencies are {min(fills):.2f} to {max(fills):.2f} of the SLO" if fills else "–"


def _mean_fill(cells: SettingCells, policy: str) -> float | None:
    return cells[RELAXED][policy].mean_fill if RELAXED in cells else None


def _slower(cells: SettingCells) -> Verdict:
    theirs, ours = _mean_fill(cells, "fast-gshare"), _mean_fill(cells, "esg")
    return None if theirs is None or ours is None else theirs > (1 + SLOWER) * ours


def _slower_told(cells: SettingCells) -> str:
    theirs, ours = _mean_fill(cells, "fast-gshare"), _mean_fill(cells, "esg")
    if theirs is None or ours is None:
        return "–"
    return f"mean latency / SLO {theirs:.2f} under fast-gshare, {ours:.2f} under esg"


def _searches(cells: SettingCells) -> dict[str, float]:
    found = {name: row["esg"].search_s for name, row in cells.items()}
    return {name: s for name, s in found.items() if s is not None}


def _searches_told(cells: SettingCells) -> str:
    return ", ".join(f"{format_time(s)} ({n})" for n, s in _searches(cells).items()) or "–"


def _search_grows(cells: SettingCells) -> Verdict:
    if not {STRICT, RELAXED} <= set(cells):
        return None
    strict, relaxed = (cells[name]["esg"].search_s for name in (STRICT, RELAXED))
    return None if strict is None or relaxed is None else bool((1 + SLOWER) * strict < relaxed)


def _no_size(cells: SettingCells) -> Verdict:
    return None


CLAIMS: tuple[Claim, ...] = (
    more_hits("more SLOs kept than by the searches", ("orion", "aquatope"), 46.0, 80.0),
    more_hits("more SLOs kept than with static shares", ("infless", "fast-gshare"), 36.0, 61.0),
    Claim(
        "costs similar or lower",
        "ESG costs as much as the others or less",
        lambda cells: all(r >= 1 - SIMILAR for r, *_ in _ratios(cells)),
        _no_size,
        _costs_told,
    ),
    Claim(
        "INFless uses most",
        "INFless uses the most resources",
        lambda cells: set(_dearest(cells).values()) == {"infless"},
        _no_size,
        _dearest_told,
    ),
    Claim(
        "ESG just below the SLO",
        "in relaxed-heavy ESG's latencies are just below the SLO",
        _just_below,
        _no_size,
        _just_below_told,
    ),
    Claim(
        "FaST-GShare slower",
        "in relaxed-heavy FaST-GShare leads to slower jobs than ESG",
        _slower,
        _no_size,
        _slower_told,
    ),
    Claim(
        "search below 10 ms",
        "ESG searches for less than 10 ms on average",
        lambda cells: all(s < SEARCH_S for s in _searches(cells).values()),
        _no_size,
        _searches_told,
    ),
    Claim(
        "search longer when relaxed",
        "ESG searches longer with a relaxed SLO than with a strict one",
        _search_grows,
        _no_size,
        _searches_told,
    ),
    misses("orion", grows=True),
    misses("aquatope", grows=False),
    Claim(
        "Aquatope misses more than Orion",
        "Aquatope misses more often than Orion in every setting",
        lambda cells: all(
            missed(cells, "aquatope").get(n, 0.0) > share + MATERIAL
            for n, share in missed(cells, "orion").items()
        ),
        _no_size,
        lambda cells: ", ".join(
            f"{missed(cells, 'aquatope').get(n, 0.0) - share:+.1f} points ({n})"
            for n, share in missed(cells, "orion").items()
        ),
    ),
)


SLIDES = ("esg", "infless", "fast-gshare", "orion", "aquatope")  # the policies that the slides compare


def published(cells: Cells) -> Cells:
    """The cells of the policies that the slides compare: of others they claim nothing."""
    return {name: cell for name, cell in cells.items() if name in SLIDES}


def main_cells(data: ServerlessStudy) -> SettingCells:
    """The cells of a study's three settings."""
    return {name: published(row.cells) for name, row in data.settings.items()}


def default_cells(data: ServerlessStudy) -> SettingCells:
    """The cells of the defaults at the load of the sensitivity."""
    return {name: published(cells) for name, cells in data.sensitivity.default.items()}


def alternative_cells(data: ServerlessStudy, row: AlternativeCells) -> SettingCells:
    """The cells under one alternative; policies that it does not touch are those of the default."""
    default = default_cells(data)
    return {name: {**default[name], **published(cells)} for name, cells in row.settings.items()}


def movers(data: ServerlessStudy, claim: Claim) -> Iterator[tuple[str, str]]:
    """(alternative, what it changes) if the verdict differs from the default's in runs of equal size."""
    default = default_cells(data)
    before = {"order": claim.order(default), "size": claim.size(default)}
    for row in data.sensitivity.rows:
        cells = alternative_cells(data, row)
        now = {"order": claim.order(cells), "size": claim.size(cells)}
        for what, verdict in now.items():
            if verdict is not None and verdict != before[what]:
                yield (
                    f"{row.key.removeprefix('serverless.')}: {row.other}",
                    (f"{what} {'holds' if verdict else 'fails'}"),
                )
