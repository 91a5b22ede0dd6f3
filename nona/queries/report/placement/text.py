"""A placement in sentences, rows and for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nona.core.tables import percent_text, share_text, time_text
from nona.core.text import count_text, ordinal
from nona.core.units import format_bandwidth, format_size, format_time
from nona.queries.placement.results import (
    PlacedModel,
    PlacedSubgraph,
    PlacementReport,
    PredictedLink,
    SearchProgress,
    SearchStep,
    SimulatedPlacement,
)
from nona.queries.report.placement.comparison import (
    formula_text,
    hits_within_text,
    interval_text,
    is_slo,
    lead_text,
    mean_of,
    origin_text,
)
from nona.queries.report.placement.layouts import ABOUT, layout_finding, layout_rows


@dataclass(frozen=True, slots=True)
class TimeParts:
    """Mean JCT of a model and its parts, seconds; ``joins_s``: what jobs take beyond the formula's path."""

    jct_s: float
    compute_s: float
    transfer_s: float
    network_wait_s: float
    server_wait_s: float
    joins_s: float = 0.0


PARTS: Mapping[str, Callable[[TimeParts], float]] = {
    "compute": lambda t: t.compute_s,
    "transfer": lambda t: t.transfer_s,
    "network_wait": lambda t: t.network_wait_s,
    "server_wait": lambda t: t.server_wait_s,
    "joins": lambda t: t.joins_s,
}
"""Name of a part → its seconds, in the order in which they are shown."""


def parts_of(report: PlacementReport) -> dict[str, TimeParts]:
    """Parts of each model's simulated mean JCT; none where executors batch, whose waits have no formula."""
    if report.predicted.jct_s is None:
        return {}
    times = report.simulated.models
    return {name: _with_joins(_path_parts(m), times[name].mean) for name, m in report.models.items()}


def _path_parts(model: PlacedModel) -> TimeParts:
    return TimeParts(
        model.jct_s or 0.0,
        model.compute_s or 0.0,
        model.transfer_s or 0.0,
        model.network_wait_s or 0.0,
        model.server_wait_s or 0.0,
    )


def _with_joins(path: TimeParts, mean_s: float | None) -> TimeParts:
    """Add to the formula's parts of the longest path the rest of the time that simulated jobs take.

    Where they take less, the formula's waits are too long: these are shortened so that the parts add up.

    >>> path = TimeParts(8.0, compute_s=5.0, transfer_s=1.0, network_wait_s=1.5, server_wait_s=0.5)
    >>> _with_joins(path, 10.0).joins_s, _with_joins(path, 7.0).network_wait_s
    (2.0, 0.75)
    """
    waits_s = path.network_wait_s + path.server_wait_s
    total_s = path.compute_s + path.transfer_s + waits_s
    if mean_s is None:
        mean_s = total_s
    beyond_s = mean_s - total_s
    left = max(waits_s + beyond_s, 0.0) / waits_s if beyond_s < 0 and waits_s > 0 else 1.0
    return TimeParts(
        mean_s,
        path.compute_s,
        path.transfer_s,
        left * path.network_wait_s,
        left * path.server_wait_s,
        max(beyond_s, 0.0),
    )


NAMES = {
    "compute": "computing",
    "transfer": "transfers",
    "network_wait": "waiting for the link",
    "server_wait": "waiting for servers",
    "joins": "joins and own work",
}


def split_finding(models: Mapping[str, TimeParts]) -> str:
    """Return the model with the smallest share of compute in its JCT, and its largest other parts.

    >>> waits = {"network_wait_s": 0.0, "server_wait_s": 0.0}
    >>> split_finding({"a": TimeParts(4.0, compute_s=3.0, transfer_s=1.0, **waits)})
    'a: 75 % computing, 25 % transfers'
    """
    worst = min(models, key=lambda n: _share(models[n], "compute"))
    first, second = sorted(PARTS, key=lambda k: -PARTS[k](models[worst]))[:2]
    shares = [f"{100 * _share(models[worst], k):.0f} % {NAMES[k]}" for k in (first, second)]
    text = ", ".join(shares if PARTS[second](models[worst]) > 0 else shares[:1])
    return f"{worst}: {text}" if len(models) == 1 else f"{worst} computes least of the time: {text}"


def _share(times: TimeParts, part: str) -> float:
    return PARTS[part](times) / times.jct_s if times.jct_s else 0.0


def plain_notes(notes: Sequence[str]) -> list[str]:
    """Return the formula's notes in plain words, notes of the same kind merged.

    >>> many = [f"Restricted: interior of 10 tasks, {n} kinds." for n in (1, 2)]
    >>> [n.split(". ")[0] for n in plain_notes(many)]
    ['For 2 kinds of sub-graph the formula did not try every configuration']
    """
    restricted = [n for n in notes if n.startswith("Restricted: ")]
    plain = [n for n in notes if n not in restricted]
    if restricted:
        kinds = "one kind" if len(restricted) == 1 else f"{len(restricted)} kinds"
        details = (n.removeprefix("Restricted: ") for n in restricted)
        plain.append(
            f"For {kinds} of sub-graph the formula did not try every configuration. Its gap holds among "
            f"those it tried. {' '.join(n[0].upper() + n[1:] for n in details)}"
        )
    return plain


LOAD = (
    "Load is work over capacity, for executors that batch at the speed of full batches. A simulation's busy "
    "time also counts smaller batches, so it is higher."
)


LEAST = 5e-4  # of the probability: what is less splits nothing that counts


def verdict(report: PlacementReport, local: PlacementReport | None = None) -> str:
    """Name the split models, how often each is split, and the origin of the placement."""
    return f"{_split_text(report, local)} {origin_text(report)}"


def _model_split(model: PlacedModel) -> float:
    own = [s.split for s in model.subgraphs if s.has_interior]
    return sum(own) / len(own) if own else 0.0


def _split_text(report: PlacementReport, local: PlacementReport | None) -> str:
    """Name the split models: a share is the mean over the model's sub-graphs that can be split."""
    shares = {name: _model_split(model) for name, model in report.models.items()}
    split = [
        f"{name} always" if share > 1 - LEAST else f"{name} at {100 * share:.0f} % of its forks"
        for name, share in shares.items()
        if share >= LEAST
    ]
    several = len(report.predicted.classes) > 1
    if not split and several and (local is None or local.class_shares != report.class_shares):
        return (
            "Every query stays on one server, as under local. But the placement chooses how often each "
            "server class is used; local uses all equally."
        )
    if not split:
        return "Every query stays on one server."
    whole = [name for name in shares if shares[name] < LEAST]
    stay = f"{whole[0]} stays" if len(whole) == 1 else "the others stay"
    others = f"; {stay} on one server" if whole else ""
    return f"Split: {', '.join(split)}{others}."


def servers_finding(report: PlacementReport) -> str:
    """Return the executor class of the highest load, and the range of mean waits."""
    classes = report.predicted.classes
    if len(classes) == 1:
        (only,) = classes
        load, wait = percent_text(only.utilization), time_text(only.wait_s)
        return f"All executors are of one class: load {load}, mean wait {wait}"
    fullest = max(classes, key=lambda c: c.utilization)
    waits = [c.wait_s for c in classes if c.wait_s is not None]
    load = percent_text(fullest.utilization)
    least, most = time_text(min(waits, default=None)), time_text(max(waits, default=None))
    return (
        f"{fullest.executor_class} has the highest load of {len(classes)} executor classes, {load}; "
        f"mean waits are {least} to {most} by class"
    )


def memory_finding(report: PlacementReport) -> str:
    """Return the memory of all replicas, and the executor class where it is tightest."""
    total = report.memory.replicas_bytes
    if total == 0:
        return "No model has weights, so memory does not limit the placement"
    text = f"Replicas of weights take {format_size(total)} over the cluster"
    full = [c.resident_bytes / c.memory_bytes for c in report.memory.classes if c.memory_bytes]
    return f"{text}, at most {percent_text(max(full))} of an executor" if full else text


def bottleneck(links: Sequence[PredictedLink]) -> PredictedLink:
    """Return the most utilised links; the slowest of them if several are equally utilised."""
    return max(links, key=lambda r: (round(r.utilization, 9), -r.capacity))


def link_finding(links: Sequence[PredictedLink]) -> str:
    """Return the most utilised links, and the links where a message waits longest.

    >>> more = {"kind": "link", "links": 1, "capacity": 1e9}
    >>> core = PredictedLink(name="core", share=0.5, utilization=0.6, wait_s=0.004, **more)
    >>> card = PredictedLink(name="server in", share=1.0, utilization=0.2, wait_s=0.006, **more)
    >>> link_finding([core, card])
    'Bottleneck: core, 60.0 % busy; a message waits 8 ms on its route, most of it (75 %) at server in'
    """
    worst = bottleneck(links)
    busiest = f"Bottleneck: {worst.name}, {percent_text(worst.utilization)} busy"
    parts = [(r.share * r.wait_s, r.name) for r in links if r.wait_s is not None]
    if len(parts) < len(links):
        return f"{busiest}: overloaded, waits of messages grow without bound"
    total = sum(p for p, _ in parts)
    if total <= 0:
        return f"{busiest}; messages do not wait"
    most, name = max(parts, key=lambda p: p[0])
    where = f"most of it ({share_text(most / total)}) at {name}"
    return f"{busiest}; a message waits {format_time(total)} on its route, {where}"


ORIGINS = {
    "formula": "formula's optimum",
    "local": "all local",
    "spread": "all spread",
    "move": "tasks moved",
    "shares": "other shares of the server classes",
    "mixture": "mixture of the two best",
}


def origin_words(step: SearchStep) -> str:
    """Return the origin of a step in a word or two.

    >>> step = SearchStep(elapsed_s=1.0, mean_s=0.09, ci95=None, origin="formula", candidates=5)
    >>> origin_words(step), origin_words(step.model_copy(update={"origin": "move 2"}))
    ("formula's optimum", 'tasks moved, 2nd time')
    """
    origin, _, number = step.origin.partition(" ")
    words = ORIGINS.get(origin, origin)
    return f"{words}, {ordinal(int(number))} time" if number else words


def best_so_far(search: SearchProgress) -> str:
    """Return the last step in a sentence.

    >>> step = SearchStep(elapsed_s=1.0, mean_s=0.09, ci95=None, origin="local", candidates=5)
    >>> best_so_far(SearchProgress(steps=(step,), candidates=7))
    'Best of 7 candidates so far: mean JCT 90 ms (all local)'
    """
    last = search.steps[-1]
    of = count_text(max(search.candidates, last.candidates), "candidate")
    goal = f"{percent_text(last.late.mean)} late" if last.late else f"mean JCT {time_text(last.mean_s)}"
    return f"Best of {of} so far: {goal} ({origin_words(last)})"


def early_text(after_s: float) -> str:
    """Return the note on a result whose search was cancelled."""
    return (
        f"Cancelled after {format_time(after_s, 2)}: this is the best so far. Solve again for a "
        "complete search."
    )


def times_finding(simulated: SimulatedPlacement) -> str:
    """Return the simulated completion times in a sentence, without the mean.

    >>> times = {"mean": 0.01, "ci95": None, "p50": 0.01, "p95": 0.02, "p99": 0.02, "misses": 0.031}
    >>> more = {"jobs": 100, "candidates": 1, "lead": None, "lead_error": None, "steady": True, "models": {}}
    >>> times_finding(SimulatedPlacement(**times, **more))
    'Of 100 jobs 95 are complete within 20 ms, and 3.1 % miss their SLO'
    """
    missed = "" if simulated.misses is None else f", and {percent_text(simulated.misses)} miss their SLO"
    return f"Of 100 jobs 95 are complete within {time_text(simulated.p95)}{missed}"


def placement_text(report: PlacementReport) -> str:
    """Format the output of ``nona place``."""
    p = report.predicted
    lines = [
        *([f"SLO hits {hits_within_text(report)}, simulated"] if is_slo(report) else []),
        f"mean JCT {time_text(mean_of(report))}, {interval_text(report)}; {report.seconds:.2f} s",
        f"  {times_finding(report.simulated)}",
        f"  {lead_text(report)} {origin_text(report)}",
        f"  {formula_text(report)}",
        f"  link {percent_text(p.network_utilization)} busy, wait by formula {time_text(p.network_wait_s)}; "
        f"executor load {percent_text(p.compute_utilization)}, wait by formula {time_text(p.server_wait_s)}",
        *_links_text(p.links),
        *_classes_text(report),
    ]
    for name, model in report.models.items():
        own = report.simulated.models[name]
        missed = "" if own.misses is None else f", {percent_text(own.misses)} beyond {time_text(own.slo_s)}"
        subgraphs = count_text(len(model.subgraphs), "sub-graph")
        lines.append(
            f"{name}: mean {time_text(own.mean)}, p95 {time_text(own.p95)}{missed}; "
            f"by formula {time_text(model.jct_s)}; {subgraphs}"
        )
        lines += [f"  {_mix(s)}" for s in model.subgraphs if not _all_local(s)]
    if report.layouts is not None:
        lines += [layout_finding(report.layouts), layout_rows(report.layouts).text(), ABOUT]
    lines += [f"note: {n}" for n in plain_notes(report.notes)]
    return "\n".join(lines + ([f"warning: {report.warning}"] if report.warning else []))


def _links_text(links: Sequence[PredictedLink]) -> list[str]:
    return [
        f"  {r.name}: {r.links} x {format_bandwidth(r.capacity)}, crossed by {share_text(r.share)}, "
        f"{share_text(r.utilization)} busy, wait {time_text(r.wait_s)}"
        for r in (links if len(links) > 1 else ())
    ]


def _classes_text(report: PlacementReport) -> list[str]:
    """Return a line for each executor class if there are several: load, wait, models and weights."""
    classes, shares = report.predicted.classes, report.class_shares
    lines = []
    for predicted, memory in zip(classes, report.memory.classes, strict=True) if len(classes) > 1 else ():
        kind = predicted.executor_class
        drawn = ", ".join(f"{n} {share_text(row[kind])}" for n, row in shares.items() if row[kind] >= 5e-4)
        lines.append(
            f"  {kind}: {predicted.executors} x, load {share_text(predicted.utilization)}, wait "
            f"{time_text(predicted.wait_s)}; draws {drawn or 'nothing'}; "
            f"{format_size(memory.resident_bytes)} of weights each"
        )
    return lines


def _all_local(subgraph: PlacedSubgraph) -> bool:
    return all(len(c.parts) <= 1 for c in subgraph.configurations)


def _mix(subgraph: PlacedSubgraph) -> str:
    shown = []
    for c in sorted(subgraph.configurations, key=lambda c: -c.probability)[:3]:
        parts = " | ".join("{" + ", ".join(p) + "}" for p in c.parts)
        shown.append(f"{share_text(c.probability)} {parts if len(parts) < 100 else parts[:97] + '…'}")
    return "; ".join(shown)
