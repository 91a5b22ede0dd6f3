"""Python's side of the live training cluster: a drawing in, nothing out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import PALETTE
from nona.report.training.words import hours_text
from nona.results.training.live import PolicySoFar, TrainingLive
from nona.results.training.outcome import Stay
from nona.ui.pages.training.clusterview.drawing import ClusterDrawing, Lane, PolicyRow
from nona.ui.widgets.component import declare

MOST_LANES = 24
SPAN_S = 86_400.0  # of simulated time that is drawn, up to the last instant
_component = declare(Path(__file__).parent, "clusterview")


def cluster_data(live: TrainingLive, fraction: float, told: str) -> ClusterDrawing:
    """What is sent to the browser: a job's ``live``, how each policy looks, what the panels say."""
    most_s = max((v for p in live.policies.values() for _, v in p.curve), default=1.0)
    longest_s = max((t for p in live.policies.values() for t, _ in p.curve), default=1.0)
    policies = tuple(_policy(n, live.policies.get(n), most_s, longest_s) for n in live.order)
    end_s = max((s.end_s for s in live.stays), default=0.0)
    start_s = max(end_s - SPAN_S, 0.0)
    lanes = _lanes(live.types, live.stays, start_s, end_s)
    hidden = sum(live.types.values()) - len(lanes)
    return ClusterDrawing(
        fraction=fraction,
        told=told,
        policies=policies,
        lanes=lanes,
        now=f"under {live.focus}, sampled" if live.focus else "",
        span=(hours_text(start_s), hours_text(end_s)),
        more=f"{hidden} more GPUs are not drawn" if hidden > 0 else "",
        alts=_alts(policies, live),
    )


def _policy(name: str, row: PolicySoFar | None, most_s: float, longest_s: float) -> PolicyRow:
    curve = () if row is None else row.curve
    return PolicyRow(
        name=name,
        colour=scheduler_style(name).colour,
        mean=hours_text(None if row is None else row.mean_jct_s),
        running=row.running if row else 0,
        waiting=row.waiting if row else 0,
        completed=row.completed if row else 0,
        started=row is not None and row.time_s > 0,
        curve=tuple((t / max(longest_s, 1e-9), v / max(most_s, 1e-9)) for t, v in curve),
    )


def _lanes(types: Mapping[str, int], stays: Sequence[Stay], start_s: float, end_s: float) -> tuple[Lane, ...]:
    """As many GPUs of each type as fit, in equal parts."""
    each = max(1, MOST_LANES // max(1, len(types)))
    shown = [(t, k) for t, count in sorted(types.items()) for k in range(min(count, each))]
    length = max(end_s - start_s, 1e-9)
    bars: dict[tuple[str, int], list[tuple[float, float, str, str]]] = {lane: [] for lane in shown}
    for stay in stays:
        if stay.end_s <= start_s:
            continue
        ends = (max(stay.start_s, start_s) - start_s) / length, (stay.end_s - start_s) / length
        colour, told = PALETTE[stay.jobs[0] % len(PALETTE)], " + ".join(f"job {j}" for j in stay.jobs)
        for k in stay.gpus:
            if (stay.gpu, k) in bars:
                bars[stay.gpu, k].append((*ends, colour, told))
    return tuple(Lane(name=f"{t} {k}", bars=tuple(bars[t, k])) for t, k in shown)


def _alts(policies: Sequence[PolicyRow], live: TrainingLive) -> tuple[str, str]:
    known = [f"{p.name} {p.mean}" for p in policies if p.mean != "–"]
    busy = {g for s in live.stays for g in ((s.gpu, k) for k in s.gpus)}
    return (
        f"Mean JCT so far: {', '.join(known) or 'none known yet'}.",
        f"{len(busy)} of {sum(live.types.values())} GPUs ran jobs lately under "
        f"{live.focus or 'no policy yet'}.",
    )


def cluster_view(key: str, data: ClusterDrawing) -> None:
    """Draw the cluster, or bring it up to date."""
    _component(key=key, data=data.to_json())
