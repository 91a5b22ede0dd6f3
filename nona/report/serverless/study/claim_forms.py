"""The forms of claims that several comparators share, and what a claim is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nona.report.serverless.pairs import mean
from nona.results.serverless.study import SettingCells

Verdict = bool | None
#: Per cent of pre-planned configurations that could not be used, slides on ESG.
MISSES: Mapping[str, Mapping[str, float]] = {
    "orion": {"strict_light": 9.6, "moderate_normal": 27.32, "relaxed_heavy": 51.68},
    "aquatope": {"strict_light": 85.5, "moderate_normal": 59.85, "relaxed_heavy": 58.72},
}
NEAR = 10.0  # percentage points: miss rates that close agree in size
MATERIAL = 0.5  # percentage points: what differs by less is not "more"
STRICT, RELAXED = "strict_light", "relaxed_heavy"


@dataclass(frozen=True, slots=True)
class Claim:
    """``stated``: what the slides say; ``order`` and ``size`` judge it; ``told`` states the finding.

    ``None`` is no verdict: the cells lack what it takes, or the slides give no number.
    """

    name: str
    stated: str
    order: Callable[[SettingCells], Verdict]
    size: Callable[[SettingCells], Verdict]
    told: Callable[[SettingCells], str]


def _gaps(cells: SettingCells, others: Sequence[str]) -> list[tuple[float, float]]:
    """ESG's advantage in SLOs kept over each policy in each setting: in points, and in per cent of theirs.

    The slides do not say which of the two they mean.
    """
    found = []
    for row in cells.values():
        for other in others:
            ours, theirs = mean(row["esg"], "hits"), mean(row[other], "hits")
            found.append((100 * (ours - theirs), 100 * (ours / theirs - 1) if theirs else float("inf")))
    return found


def more_hits(name: str, others: tuple[str, str], low: float, high: float) -> Claim:
    """ESG keeps ``low`` to ``high`` per cent more SLOs than two others."""

    def order(cells: SettingCells) -> Verdict:
        return all(points > MATERIAL for points, _ in _gaps(cells, others))

    def size(cells: SettingCells) -> Verdict:
        return any(low <= gap <= high for both in _gaps(cells, others) for gap in both)

    def told(cells: SettingCells) -> str:
        points, relative = zip(*_gaps(cells, others), strict=True)
        return (
            f"{min(points):+.1f} to {max(points):+.1f} percentage points ({min(relative):+.1f} % to "
            f"{max(relative):+.1f} % of theirs), by setting and policy"
        )

    stated = f"ESG keeps {low:.0f} % to {high:.0f} % more SLOs than {others[0]} and {others[1]}"
    return Claim(name, stated, order, size, told)


def missed(cells: SettingCells, policy: str) -> dict[str, float]:
    """Setting → configuration misses of the policy, per cent; settings without any planned are left out."""
    found = {name: row[policy].miss for name, row in cells.items()}
    return {name: 100 * share for name, share in found.items() if share is not None}


def misses(policy: str, grows: bool) -> Claim:
    """A policy's configuration misses rise, or fall, from the strict to the relaxed setting."""
    stated = MISSES[policy]

    def order(cells: SettingCells) -> Verdict:
        found = missed(cells, policy)
        if not {STRICT, RELAXED} <= set(found):
            return None
        change = found[RELAXED] - found[STRICT]
        return change > MATERIAL if grows else change < -MATERIAL

    def size(cells: SettingCells) -> Verdict:
        found = missed(cells, policy)
        return all(abs(found[n] - stated[n]) <= NEAR for n in found if n in stated) if found else None

    def told(cells: SettingCells) -> str:
        return ", ".join(f"{share:.1f} % ({name})" for name, share in missed(cells, policy).items()) or "–"

    numbers = ", ".join(f"{share:g} %" for share in stated.values())
    change = "grow" if grows else "fall"
    return Claim(
        f"misses of {policy}",
        f"{policy}'s configuration misses {change} from strict-light to relaxed-heavy: {numbers}",
        order,
        size,
        told,
    )
