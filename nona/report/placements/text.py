"""A placement in sentences, rows and for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nona.report.placements.certificate import (
    bound_text,
    error_text,
    formula_line,
    gap_text,
    hits_text,
    is_sampled,
    is_slo,
    mean_of,
    origin_text,
    plus_minus,
)
from nona.report.placements.report import missed_finding
from nona.report.text import counted
from nona.results.placement import (
    CongestionCurve,
    FullPlacementReport,
    PlacedModel,
    PlacedSubgraph,
    PlacementReport,
    PredictedLink,
    PredictedMix,
    ResponseReport,
    SearchStep,
)
from nona.tables import percent_text, share_text, time_text
from nona.units import format_bandwidth, format_number, format_size, format_time


@dataclass(frozen=True, slots=True)
class TimeParts:
    """Mean JCT of a model and its parts, seconds; ``joins_s`` is what sampled jobs take beyond the path."""

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


def parts_of(models: Mapping[str, PlacedModel], response: ResponseReport | None) -> dict[str, TimeParts]:
    """Parts of each model's mean JCT: :func:`_with_joins` where jobs were sampled, else the formula's."""
    path = {name: _path_parts(m) for name, m in models.items()}
    if response is None:
        return path
    return {name: _with_joins(p, response.models[name].mean_s) for name, p in path.items()}


def _path_parts(model: PlacedModel) -> TimeParts:
    return TimeParts(
        model.jct_s or 0.0,
        model.compute_s or 0.0,
        model.transfer_s or 0.0,
        model.network_wait_s or 0.0,
        model.server_wait_s or 0.0,
    )


def _with_joins(path: TimeParts, mean_s: float | None) -> TimeParts:
    """Add to the formula's parts of the longest path the rest of the time that sampled jobs take.

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
    "compute": "compute",
    "transfer": "transfers",
    "network_wait": "waits at the link",
    "server_wait": "waits at servers",
    "joins": "joins and own work",
}


def split_finding(models: Mapping[str, TimeParts]) -> str:
    """The model with the smallest share of compute in its JCT, and its largest other parts.

    >>> waits = {"network_wait_s": 0.0, "server_wait_s": 0.0}
    >>> split_finding({"a": TimeParts(4.0, compute_s=3.0, transfer_s=1.0, **waits)})
    'a: 75 % compute, then 25 % transfers'
    """
    worst = min(models, key=lambda n: _share(models[n], "compute"))
    first, second = sorted(PARTS, key=lambda k: -PARTS[k](models[worst]))[:2]
    shares = [f"{100 * _share(models[worst], k):.0f} % {NAMES[k]}" for k in (first, second)]
    text = f"{worst}: {shares[0]}" + (f", then {shares[1]}" if PARTS[second](models[worst]) > 0 else "")
    return text if len(models) == 1 else f"The least share of compute has {text}"


def _share(times: TimeParts, part: str) -> float:
    return PARTS[part](times) / times.jct_s if times.jct_s else 0.0


def congestion_finding(curve: CongestionCurve) -> str:
    """The background load above which splitting no longer pays."""
    now, stops = curve.now, curve.stops
    if stops is None:
        return (
            f"By the formula, splitting pays at any background load from the present {now:.0%} to saturation"
        )
    if stops <= now:
        where = (
            f"at background loads from the present {now:.0%} of the link upwards"
            if now > 0
            else "at any background load"
        )
        return f"By the formula, splitting does not pay {where}: every query stays on one server"
    return (
        f"By the formula, splitting stops paying when the background uses {stops:.0%} of the link; now "
        f"it uses {now:.0%}"
    )


def plain_notes(notes: Sequence[str]) -> list[str]:
    """The placement's notes in plain words, notes of the same kind merged.

    >>> many = [f"Restricted: interior of 10 tasks, {n} kinds; the bounds hold for all." for n in (1, 2)]
    >>> [n.split(":")[0] for n in plain_notes(many)]
    ['For 2 kinds of sub-graph not every configuration was tried']
    """
    restricted = [n for n in notes if n.startswith("Restricted: ")]
    plain = [n for n in notes if n not in restricted]
    if restricted:
        kinds = "one kind" if len(restricted) == 1 else f"{len(restricted)} kinds"
        details = "; ".join(n.removeprefix("Restricted: ").partition("; the bounds")[0] for n in restricted)
        plain.append(
            f"For {kinds} of sub-graph not every configuration was tried: {details}. The bounds still hold "
            "for all configurations, so the gap is valid: a placement among those not tried can be better by "
            "at most the gap."
        )
    return plain


def price_text(predicted: PredictedMix) -> str:
    """The price of congestion in words."""
    price = predicted.congestion_price_s_per_byte
    if price is None:
        return "There is no price of congestion here: the link is at its capacity."
    if price == 0:
        return "No query waits for the link here, so one more byte on it has no cost."
    return (
        f"One more megabyte on the link costs all queries together {format_time(price * 1e6)} of waiting "
        "(the price of congestion, by formula)."
    )


LOAD = (
    "Load is work over capacity; where executors batch, at the pace of full batches. The time for which they "
    "are occupied, by smaller batches too, is what a simulation calls busy."
)


def servers_finding(report: PlacementReport) -> str:
    """The executor class of the highest load, and the range of mean waits."""
    classes = report.predicted.classes
    if len(classes) == 1:
        (only,) = classes
        load, wait = percent_text(only.utilization), time_text(only.wait_s)
        return f"All executors are of one class: load {load}, a visit waits {wait}"
    fullest = max(classes, key=lambda c: c.utilization)
    waits = [c.wait_s for c in classes if c.wait_s is not None]
    load = percent_text(fullest.utilization)
    least, most = time_text(min(waits, default=None)), time_text(max(waits, default=None))
    return (
        f"{fullest.executor_class} has the highest load of {len(classes)} executor classes, {load}; "
        f"a visit waits {least} to {most} by class"
    )


def memory_finding(report: PlacementReport) -> str:
    """The memory of all replicas, and the executor class where it is tightest."""
    total = report.memory.replicas_bytes
    if total == 0:
        return "No model states weights, so memory does not limit the placement"
    text = f"Replicas of weights take {format_size(total)} over the cluster"
    full = [c.resident_bytes / c.memory_bytes for c in report.memory.classes if c.memory_bytes]
    return f"{text}, at most {percent_text(max(full))} of an executor" if full else text


def bottleneck(links: Sequence[PredictedLink]) -> PredictedLink:
    """The most utilised links; the slowest of them if several are equally utilised."""
    return max(links, key=lambda r: (round(r.utilization, 9), -r.capacity))


def link_finding(links: Sequence[PredictedLink]) -> str:
    """The most utilised links, and the links where a message waits longest.

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


ORIGINS = {"local": "all local", "spread": "all spread"}


def origin_words(step: SearchStep) -> str:
    """The origin of a step in a word or two.

    >>> none = {"lower_bound_s": None, "gap": None, "batches": True}
    >>> step = SearchStep(elapsed_s=1.0, objective_s=0.09, error_s=0.0, origin="formula", **none)
    >>> origin_words(step), origin_words(step.model_copy(update={"origin": "local"}))
    ("formula's proposal", 'all local')
    """
    if step.origin == "formula":
        return "formula's proposal" if step.batches else "formula's optimum"
    return ORIGINS.get(step.origin, step.origin)


def best_so_far(steps: Sequence[SearchStep]) -> str:
    """The last step in a sentence.

    >>> none = {"lower_bound_s": None, "gap": None}
    >>> best_so_far([SearchStep(elapsed_s=1.0, objective_s=0.09, error_s=0.0, origin="local", **none)])
    'Best so far: mean JCT 90 ms (all local), no bound yet'
    >>> none |= {"batches": True}
    >>> best_so_far([SearchStep(elapsed_s=1.0, objective_s=0.09, error_s=0.0, origin="local", **none)])
    'Best so far: mean JCT 90 ms (all local), no bound: the certificate holds for batches of 1 only'
    """
    last = steps[-1]
    mean = f"{time_text(last.objective_s)} {plus_minus(last.objective_s, last.error_s)}".strip()
    if last.gap is not None:
        bound = time_text(last.lower_bound_s)
        gap = f"gap {format_number(100 * last.gap, 2)} % to the formula's bound of {bound}"
    elif last.batches:
        gap = "no bound: the certificate holds for batches of 1 only"
    else:
        gap = "no bound yet"
    return f"Best so far: mean JCT {mean} ({origin_words(last)}), {gap}"


def early_text(after_s: float) -> str:
    """The note on a result whose search was cancelled."""
    return (
        f"Cancelled early, after {format_time(after_s, 2)}: this is the best so far. Solve again for a "
        "complete search."
    )


def response_finding(response: ResponseReport) -> str:
    """The predicted completion times in a sentence, without the mean.

    >>> times = {"mean_s": 0.01, "p50_s": 0.01, "p95_s": 0.02, "p99_s": 0.02, "sampling_s": 0.0}
    >>> loads = {"compute_utilization": 0.5, "link_utilization": 0.5}
    >>> response_finding(ResponseReport(miss=0.031, models={}, **times, **loads))
    'Of 100 sampled jobs 95 are complete within 20 ms, and 3.1 % miss their SLO'
    """
    missed = "" if response.miss is None else f", and {percent_text(response.miss)} miss their SLO"
    return f"Of 100 sampled jobs 95 are complete within {time_text(response.p95_s)}{missed}"


def response_lines(response: ResponseReport) -> list[str]:
    """Format the response for ``nona place``: a finding, a line per model, a warning if there is one."""
    lines = [response_finding(response)]
    for name, m in response.models.items():
        missed = "" if m.miss is None else f", {percent_text(m.miss)} beyond {time_text(m.slo_s)}"
        lines.append(f"  {name}: mean {time_text(m.mean_s)}, p95 {time_text(m.p95_s)}{missed}")
    return lines + ([f"warning: {response.warning}"] if response.warning else [])


def placement_text(report: PlacementReport) -> str:
    """Format the output of ``nona place``."""
    p = report.predicted
    sampled = is_sampled(report) or isinstance(report, FullPlacementReport)
    by = "by sampled jobs" if sampled else "by formula alone"
    value = " ".join(t for t in (time_text(mean_of(report)), error_text(report), by) if t)
    lines = [
        *([f"SLO hits {hits_text(report)}"] if is_slo(report) else []),
        f"mean JCT {value}; {bound_text(report)} (gap: {gap_text(report)}); {report.solver}, "
        f"{report.seconds:.2f} s",
        *(
            f"  {line}"
            for line in (missed_finding(report), origin_text(report), formula_line(report))
            if line
        ),
        f"  by formula: link {percent_text(p.network_utilization)} busy, wait "
        f"{time_text(p.network_wait_s)}; executor load {percent_text(p.compute_utilization)}, wait "
        f"{time_text(p.server_wait_s)}",
        *_links_text(p.links),
        *_classes_text(report),
    ]
    for name, model in report.models.items():
        subgraphs = counted(len(model.subgraphs), "sub-graph")
        lines.append(f"{name}: {time_text(model.jct_s)} by formula, {subgraphs}")
        lines += [f"  {_mix(s)}" for s in model.subgraphs if not _all_local(s)]
    lines += [f"note: {n}" for n in report.notes]
    return "\n".join(lines)


def _links_text(links: Sequence[PredictedLink]) -> list[str]:
    return [
        f"  {r.name}: {r.links} x {format_bandwidth(r.capacity)}, crossed by {r.share:.0%}, "
        f"{r.utilization:.0%} busy, wait {time_text(r.wait_s)}"
        for r in (links if len(links) > 1 else ())
    ]


def _classes_text(report: PlacementReport) -> list[str]:
    """A line for each executor class, if there are several: load, wait, models drawn to it, weights."""
    classes, shares = report.predicted.classes, report.class_shares
    lines = []
    for predicted, memory in zip(classes, report.memory.classes, strict=True) if len(classes) > 1 else ():
        kind = predicted.executor_class
        drawn = ", ".join(f"{n} {row[kind]:.0%}" for n, row in shares.items() if row[kind] >= 5e-4)
        lines.append(
            f"  {kind}: {predicted.executors} x, load {predicted.utilization:.0%}, wait "
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
        shown.append(f"{c.probability:.0%} {parts if len(parts) < 100 else parts[:97] + '…'}")
    return "; ".join(shown)
