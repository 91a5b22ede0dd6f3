"""The facts that were found, joined by the names of models and GPUs into a scenario and its model files.

An unknown fact is written as ``asked: KEY``, which the reader of a scenario refuses by its place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nona.core.units import parse_quantity
from nona.deployment.bursts import Pool, short_text
from nona.deployment.engines import engine_parts
from nona.deployment.ensembles import batching_settings
from nona.deployment.facts import ASKED, GIVEN, NONE, Ledger, batch_times, placeholder, text_of
from nona.deployment.found import Found, FoundLoad, FoundServers, FoundTimes, MeasuredModel, Stage, StageGraph
from nona.deployment.measured import measured_csv
from nona.models.graph.model import ModelGraph
from nona.models.graph.node_link import to_node_link
from nona.scenario.lookup import unused_name
from nona.scenario.rows import MOST_INSTANCES
from nona.scenario.values import listed_layouts

NETWORK = 25e9 / 8
USUAL_BATCH = 8

UNLIKE = 0.05  # of a rate: more differs by more than chance does in a scrape


@dataclass(frozen=True, slots=True)
class Joined:
    """The data of a scenario, and the files that it names."""

    scenario: Mapping[str, Any]
    files: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the workload, with the data of its model file."""

    graph: StageGraph
    model: Mapping[str, Any]


def join(
    found: Found, graphs: Mapping[str, ModelGraph], extra: Mapping[str, bytes], ledger: Ledger
) -> Joined:
    """Return the scenario of the facts that were found.

    ``graphs``: of ONNX files, by their names. ``extra``: files that rows name besides models.
    """
    kept = [g for g in found.graphs if not ledger.left_out(g.rate_of or g.name, *_LEAVING[_alone(g)])]
    servers = found.servers or _asked_servers(kept, found, ledger)
    files: dict[str, bytes] = dict(extra)
    workload: list[dict[str, Any]] = []
    groups = [_group(s, kept, ledger) for s in servers]
    cost = {k: v for k, v in (("stack", found.stack), ("precision", found.precision)) if v and graphs}
    alone = 0
    measured: list[tuple[MeasuredModel, str]] = []
    for graph in kept:
        if (model := graph.measured) is not None:
            measured.append((model, _profiled_device(servers, graph, model, ledger)))
            workload.append(_measured_row(graph, model, found, ledger))
            continue
        times = {
            stage.name: _time(stage, graphs, found.times, _alone(graph), ledger) for stage in graph.stages
        }
        name = unused_name(f"{graph.name}.json", files)
        files[name] = _model_file(graph, graphs, times, _device(servers, graph, ledger))
        row = {"model": name, "name": graph.name}
        stages = _stages(graph, servers, ledger)
        pool = Pool(groups, row | stages, files[name], cost, alone) if _alone(graph) else None
        alone += pool is not None
        workload.append(row | _traffic(graph, found, pool, ledger) | _slo(graph, ledger) | stages)
    _report_other_traffic(kept, workload, found.loads, ledger)
    engines = engine_parts(found, bool(kept), extra, ledger)
    groups = engines.groups_with(groups)
    workload += engines.rows
    cluster: dict[str, Any] = {"servers": groups}
    if network := _network(groups, servers[0].place if servers else engines.place, ledger):
        cluster["network"] = network
    data: dict[str, Any] = {"version": 1, "name": _title(kept, engines.names), "cluster": cluster}
    if workload:
        data["workload"] = workload
    if any({"instances", "cpu"} & set(stage) for row in workload for stage in row.get("stages", {}).values()):
        data["schedulers"] = list(_SCHEDULERS)
        ledger.assume("how servers share the queries: no file says", " or ".join(_SCHEDULERS), kept[0].place)
    if measured:
        table = unused_name("measured.csv", files)
        files[table], cost["measured"] = measured_csv(measured), table
    if engines.precision:
        cost["precision"] = engines.precision
    if cost:
        data["cost"] = cost
    return Joined(data, files)


_SCHEDULERS = ("least-loaded", "local", "spread", "jsq-d", "random")
"""What may stand before servers with instances, which take tasks themselves; the first is assumed."""
_LEAVING = {False: ("rate",), True: ("rate", "time")}
"""Questions to which ``none`` leaves a graph out; with its time, where its model is all there is to it."""


def _alone(graph: StageGraph) -> bool:
    """Return whether a graph is one task, a model of the same name."""
    return [stage.service for stage in graph.stages] == [graph.rate_of or graph.name]


def _title(graphs: Sequence[StageGraph], engines: Sequence[str]) -> str:
    names = ", ".join(dict.fromkeys((*(g.rate_of or g.name for g in graphs), *engines)))
    return f"What runs: {names}"[:200] if names else "What runs"


def _asked_servers(graphs: Sequence[StageGraph], found: Found, ledger: Ledger) -> tuple[FoundServers, ...]:
    """Return one group of servers, asked for, where no file describes the cluster."""
    if not graphs:
        return ()
    pools = [pool for g in graphs for s in g.stages for pool in s.pools]
    place = graphs[0].place
    gpus = 1 + max((gpu for pool in pools for gpu in pool.gpus), default=0)
    name = ledger.device("servers.gpu", "device of the servers, e.g. a100-80gb", place)

    def number(key: str, what: str, value: int) -> int:
        return int(float(ledger.assume(f"servers: {what}", value, place, "count", f"servers.{key}")))

    count, gpus = number("count", "how many", 1), number("gpus", "GPUs of each", gpus)
    return (FoundServers(count, name, gpus, number("vcpus", "vCPUs of each", 16), place),)


def _group(servers: FoundServers, graphs: Sequence[StageGraph], ledger: Ledger) -> dict[str, Any]:
    group: dict[str, Any] = {
        "count": servers.count,
        "gpu": servers.gpu or f"{ASKED}servers.gpu",
        "gpus": servers.gpus,
        "vcpus": servers.vcpus,
    }
    if servers.mig:
        group["mig"] = listed_layouts(servers.mig)
    if servers.mps > 1:
        group["mps"] = servers.mps
    most = max(servers.shared, _at_once(graphs, servers.gpus))
    if most > 1 and not servers.mps:
        group["instances"] = {"most": min(most, MOST_INSTANCES)}
        ledger.assume(
            f"{servers.gpu or 'servers'}: speed of tasks beside each other",
            "1, 1/2, 1/3, …: the GPU divides its time",
            servers.place,
        )
    return group


def _at_once(graphs: Sequence[StageGraph], gpus: int) -> int:
    """Return the most instances on a GPU of all models together."""
    services = {s.service: _on_gpus(s, gpus) for g in graphs for s in g.stages if not s.on_cpu}
    return max((sum(counts) for counts in zip(*services.values(), strict=True)), default=1)


def _on_gpus(stage: Stage, gpus: int) -> list[int]:
    """Return the instances on each GPU of a server; one where a stage has none on any."""
    counts = [
        sum(p.count for p in stage.pools if not p.on_cpu and (not p.gpus or gpu in p.gpus))
        for gpu in range(gpus)
    ]
    return counts if any(counts) else [1] * gpus


def _places(stage: Stage, gpus: int) -> list[dict[str, Any]]:
    """Return how many instances a stage has on which GPUs of a server."""
    on: dict[int, list[int]] = {}
    for gpu, count in enumerate(_on_gpus(stage, gpus)):
        if count:
            on.setdefault(min(count, MOST_INSTANCES), []).append(gpu)
    if len(on) == 1 and all(len(named) == gpus for named in on.values()):
        return [{"count": count} for count in on]
    return [{"count": count, "gpus": named} for count, named in sorted(on.items())]


def _network(groups: Sequence[Mapping[str, Any]], place: str, ledger: Ledger) -> dict[str, Any]:
    """Return the network; none is asked for where there is one server."""
    if sum(group["count"] for group in groups) < 2:
        return {}
    value = ledger.number(
        "network.capacity", "capacity of the network between servers", place, "bandwidth", NETWORK
    )
    return {"capacity": placeholder(value, "network.capacity", "bandwidth")}


def _device(servers: Sequence[FoundServers], graph: StageGraph, ledger: Ledger) -> str:
    """Return the device on which times without one hold: that of the cluster where it has one kind."""
    kinds = {(s.gpu, s.mig, s.mps) for s in servers if s.gpu}
    if len(kinds) == 1:
        (gpu, mig, _) = next(iter(kinds))
        if not mig:
            return gpu
    return "any"


def _time(
    stage: Stage,
    graphs: Mapping[str, ModelGraph],
    times: Sequence[FoundTimes],
    alone: bool,
    ledger: Ledger,
) -> Mapping[int, float] | None:
    """Return the seconds of a stage by batch; empty: by the cost model; ``None``: asked."""
    key = f"{stage.service}.time"
    mine = [t for t in times if t.service == stage.service]
    mine = [t for t in mine if t.version == stage.version] or [t for t in mine if not t.version]
    seconds = {b: s for t in mine for b, s in t.seconds.items()}
    if stage.onnx in graphs and not seconds:
        graph = graphs[stage.onnx]
        ledger.read(f"{stage.service}: time", f"modelled from its graph of {len(graph.operators)} operators",
                    f"{stage.onnx}:1")  # fmt: skip
        return {}
    if 1 in seconds:
        return seconds
    if line := next((t.line for t in mine if t.line), None):
        return _on_line(stage, line, seconds, mine[0].place, ledger)
    known = ", ".join(f"{text_of(s, 'time')} in a batch of {b}" for b, s in sorted(seconds.items()))
    what = (
        f"time of {stage.service}{f' ({known} was seen)' if known else ''}: of one query, as 8 ms, or by "
        f"batch, as 1: 5 ms, 8: 12 ms{' (none: leave it out)' if alone else ''}"
    )
    answer = ledger.ask(key, what, mine[0].place if mine else stage.place)
    return None if answer is None else {**seconds, **batch_times(str(answer), key)}


def _on_line(
    stage: Stage, line: tuple[float, float], seen: Mapping[int, float], place: str, ledger: Ledger
) -> dict[int, float]:
    """Return the seconds of batches that scrapes at unlike loads tell, unless a person knows better."""
    step_s, each_s = line
    texts = [text_of(seconds, "time") for seconds in line]
    what = (
        f"{stage.service}: time by batch, {texts[0]} a step and {texts[1]} each query in it: from steps that "
        "requests saw at unlike loads; the mean batches are lower bounds of the batches that they saw"
    )
    largest = max(2, stage.batching.max_batch if stage.batching else USUAL_BATCH)
    times = {1: step_s + each_s, largest: step_s + each_s * largest, **seen}
    usual = ", ".join(f"{b}: {text_of(times[b], 'time')}" for b in sorted(times))
    key = f"{stage.service}.time"
    return batch_times(str(ledger.assume(what, usual, place, key=key)), key)


def _model_file(
    graph: StageGraph,
    graphs: Mapping[str, ModelGraph],
    times: Mapping[str, Mapping[int, float] | None],
    device: str,
) -> bytes:
    nodes = []
    for stage in graph.stages:
        node: dict[str, Any] = {"id": stage.name, "kind": "Task"}
        seconds = times[stage.name]
        if seconds is None:
            node["compute_ms"] = f"{ASKED}{stage.service}.time"
        elif seconds:
            node["compute_ms"] = _ms(seconds[1])
            if len(seconds) > 1:
                node["batch_ms"] = {str(b): _ms(s) for b, s in sorted(seconds.items())}
        else:
            node["bodies"] = [to_node_link(graphs[stage.onnx])]
        if stage.on_cpu:
            node["bound"] = "host"
        nodes.append(node)
    edges = [
        {
            "source": t.source,
            "target": t.target,
            "tensor": t.tensor,
            "bytes": placeholder(t.size_bytes, f"{graph.name}.{t.tensor.rpartition('/')[2]}.bytes", "count"),
        }
        for t in graph.transfers
    ]
    own = {"name": graph.name, "format": "json", "device": device}
    document = {"directed": True, "multigraph": True, "graph": own, "nodes": nodes, "edges": edges}
    return json.dumps(document, indent=1, ensure_ascii=False).encode()


def _ms(seconds: float) -> float:
    return float(f"{seconds * 1e3:.12g}")


def _slo(graph: StageGraph, ledger: Ledger) -> dict[str, Any]:
    of = graph.rate_of or graph.name
    key, what = f"{of}.slo", f"longest response time of {of} (none: no SLO)"
    if ledger.dropped(key):
        ledger.read(what, NONE, f"{GIVEN} {key}")
        return {}
    return {"slo": placeholder(ledger.number(key, what, graph.place, "time"), key, "time")}


def _traffic(graph: StageGraph, found: Found, pool: Pool | None, ledger: Ledger) -> dict[str, Any]:
    """Return rate and arrivals of a row, or its users; ``pool``: of a graph that is one task."""
    of = graph.rate_of or graph.name
    seen = next((load for load in found.loads if load.service == of), None)
    if seen is not None and seen.concurrency is not None:
        return {"concurrency": seen.concurrency}
    key = f"{of}.rate"
    if seen is not None and seen.rate is not None:
        given = ledger.assume(f"{of}: traffic is as it was seen", seen.rate, seen.place, "rate", key)
        rate: float | None = float(given)
    else:
        rate = ledger.number(key, f"mean rate of {of} (none: leave it out)", graph.place, "rate")
    whole = None if rate is None or graph.share is None else rate * graph.share
    traffic: dict[str, Any] = {"rate": placeholder(whole, key, "rate")}
    cv = _cv(graph, seen, pool, ledger)
    if cv != 1:
        traffic["arrivals"] = {"process": "gamma", "cv": cv} if cv else {"process": "deterministic"}
    return traffic


def _report_other_traffic(
    graphs: Sequence[StageGraph],
    rows: Sequence[Mapping[str, Any]],
    loads: Sequence[FoundLoad],
    ledger: Ledger,
) -> None:
    """Note where a model was seen to get other traffic than the rows that ask it send."""
    for load in loads:
        asking = [
            str(row.get("rate", ASKED))
            for graph, row in zip(graphs, rows, strict=True)
            if any(s.service == load.service for s in graph.stages) and graph.name != load.service
        ]
        if not load.rate or not asking or any(rate.startswith(ASKED) for rate in asking):
            continue
        sent = sum(parse_quantity(rate, "rate") for rate in asking)
        if abs(sent - load.rate) > UNLIKE * load.rate:
            seen, given = text_of(load.rate, "rate"), text_of(sent, "rate")
            ledger.not_used(
                f"{load.service}: traffic as it was seen",
                f"{seen}; the rows that ask it send {given}",
                load.place,
            )


def _cv(graph: StageGraph, seen: FoundLoad | None, pool: Pool | None, ledger: Ledger) -> float:
    """Return the CV of the gaps between queries: what explains the queue that was seen, else Poisson's."""
    of = graph.rate_of or graph.name
    key, what = f"{of}.cv", f"{of}: CV of the gaps between queries"
    cv, place = 1.0, seen.place if seen else graph.place
    if pool and seen and seen.rate and seen.wait_s is not None and key not in ledger.answers:
        cv, why = _explained(graph, seen, pool)
        what += why
    return float(ledger.assume(what, cv, place, "number", key))


def _explained(graph: StageGraph, seen: FoundLoad, pool: Pool) -> tuple[float, str]:
    """Return the CV that explains a queue, and that it is no more than that, in words after its name."""
    queue = f"its queue of {short_text(seen.wait_s or 0.0)}"
    if seen.batch > 1.05 and graph.stages[0].batching is None:
        return 1.0, f"; {queue} is not explained: no file says how its batches of {seen.batch:.3g} form"
    row = dict(pool.row) | {"rate": text_of(seen.rate or 0.0, "rate")}
    found = replace(pool, row=row).bursts(seen.wait_s or 0.0, seen.requests)
    if found is None:
        return 1.0, ""
    if found.problem:
        return 1.0, f"; {queue} is not explained: {found.problem}"
    if found.cv == 1:
        return 1.0, f"; Poisson arrivals explain {queue}"
    kind = "bursts" if found.cv > 1 else "even gaps"
    return float(f"{found.cv:.3g}"), (
        f", {found.low:.3g} to {found.high:.3g}: {kind} that explain your queue, not your arrivals; "
        f"Poisson ones would wait {short_text(found.poisson_s)}"
    )


def _measured_row(graph: StageGraph, model: MeasuredModel, found: Found, ledger: Ledger) -> dict[str, Any]:
    """Return the row of a model whose operators were measured: with as many inputs as ran together."""
    row: dict[str, Any] = {"model": model.file, "name": graph.name}
    if graph.symbols:
        row["symbols"] = dict(graph.symbols)
    what = f"{graph.name}: inputs of a query, as its profile had"
    inputs = int(
        float(ledger.assume(what, model.batch, model.profile.place, "count", f"{graph.name}.inputs"))
    )
    row |= {"batch": inputs} if inputs > 1 else {}
    return row | _traffic(graph, found, None, ledger) | _slo(graph, ledger)


def _profiled_device(
    servers: Sequence[FoundServers], graph: StageGraph, model: MeasuredModel, ledger: Ledger
) -> str:
    """Return the device of a profile: that of the servers where they have one kind, else it is asked."""
    device = _device(servers, graph, ledger)
    if device != "any" or not all(s.gpu for s in servers):
        return device if device != "any" else f"{ASKED}servers.gpu"
    key = f"{model.profile.stem}.gpu"
    device = ledger.device(key, f"device that {model.profile.place} was measured on", model.profile.place)
    return device or f"{ASKED}{key}"


def _stages(graph: StageGraph, servers: Sequence[FoundServers], ledger: Ledger) -> dict[str, Any]:
    """Return instances, processes and batching of each task."""
    stages: dict[str, Any] = {}
    for stage in graph.stages:
        if not stage.pools and stage.batching is None:
            continue
        spec: dict[str, Any] = {}
        if stage.on_cpu:
            spec["cpu"] = sum(pool.count for pool in stage.pools)
            for s in servers:
                if s.vcpus < spec["cpu"]:
                    ledger.assume(
                        f"{spec['cpu']} processes of {stage.name} on {s.vcpus} vCPUs of a server",
                        "each as fast as on a CPU of its own",
                        s.place,
                    )
        elif stage.pools:
            spec["instances"] = [
                {"group": i, **places} for i, s in enumerate(servers) for places in _places(stage, s.gpus)
            ]
        if stage.batching is not None:
            spec["batching"] = batching_settings(stage.batching) or "off"
        stages[stage.name] = spec
    return {"stages": stages} if stages else {}
