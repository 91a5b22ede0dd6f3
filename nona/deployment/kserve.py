"""KServe: inference graphs as paths of services, inference services as pools; Ray Serve's deployments.

Source: kserve/kserve, pkg/apis/serving/v1alpha1/inference_graph.go and cmd/router/main.go: a Sequence ends
where a step's condition fails, an Ensemble waits for all, a Splitter draws by weight, a Switch takes the
first match. docs.ray.io: configuration of Serve.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from nona.core.errors import DeploymentError
from nona.deployment.facts import AnswerError, Ledger
from nona.deployment.found import Batching, Found, Stage, StageGraph, Transfer
from nona.deployment.located import Tree
from nona.deployment.products import device_named

MOST_PATHS = 100
MOST_STEPS = 500
MOST_DEPTH = 20


@dataclass(frozen=True, slots=True)
class _Way:
    """One way through a node: stages in layers that follow each other, and the part of the queries on it.

    ``edges`` join the stages; ``first`` and ``last`` are those without one before or after them.
    """

    share: float | None
    stages: tuple[Stage, ...] = ()
    edges: tuple[tuple[str, str], ...] = ()
    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    name: str = ""
    ended: bool = False


def _product(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a * b


class _Paths:
    def __init__(self, tree: Tree, graph: str, batching: Mapping[str, Batching], ledger: Ledger) -> None:
        self._tree, self._graph, self._batching, self._ledger = tree, graph, batching, ledger
        self._steps = 0

    def node(self, name: str, above: tuple[str, ...]) -> list[_Way]:
        """Return the ways through a node."""
        path = ("spec", "nodes", name)
        place = self._tree.place_of(*path)
        if name in above or len(above) > MOST_DEPTH:
            raise DeploymentError(
                f"{place}: nodes call each other in a circle at {name[:60]!r}; remove one step."
            )
        if not self._tree.mapping("spec", "nodes").get(name):
            raise DeploymentError(f"{place}: the node {name[:60]!r} is not there; add it.")
        kind = self._tree.text(*path, "routerType")
        steps = range(len(self._tree.entries(*path, "steps")))
        self._steps += len(steps)
        if self._steps > MOST_STEPS:
            raise DeploymentError(f"{place}: more than {MOST_STEPS} steps; give a smaller graph.")
        if kind == "Sequence":
            ways = self._sequence(name, steps, above)
        elif kind == "Ensemble":
            ways = self._ensemble(name, steps, above)
        elif kind in ("Splitter", "Switch"):
            ways = self._choice(name, kind, steps, above)
        else:
            raise DeploymentError(
                f"{place}: routerType {kind[:40]!r} must be Sequence, Ensemble, Splitter or Switch."
            )
        if len(ways) > MOST_PATHS:
            raise DeploymentError(f"{place}: more than {MOST_PATHS} ways; give a smaller graph.")
        return ways

    def _step(self, node: str, i: int, above: tuple[str, ...]) -> list[_Way]:
        path = ("spec", "nodes", node, "steps", i)
        place = self._tree.place_of(*path)
        if inner := self._tree.text(*path, "nodeName"):
            return self.node(inner, (*above, node))
        service = self._tree.text(*path, "serviceName")
        if not service:
            url = self._tree.text(*path, "serviceUrl")
            service = re.sub(r"^\w+://", "", url).partition("/")[0][:60]
            if not service:
                raise DeploymentError(f"{place}: a step names no service, node or URL; add one.")
            self._ledger.read(f"{self._graph}: a service outside the cluster", url, place)
        stage = Stage(service, service, place, batching=self._batching.get(service))
        return [_Way(1.0, (stage,), (), (service,), (service,))]

    def _sequence(self, name: str, steps: Sequence[int], above: tuple[str, ...]) -> list[_Way]:
        ways = [_Way(1.0)]
        for i in steps:
            condition = self._tree.text("spec", "nodes", name, "steps", i, "condition")
            inner = self._step(name, i, above)
            going: list[_Way] = []
            passed = self._passed(name, i, condition)
            for way in ways:
                if way.ended:
                    going.append(way)
                    continue
                going += [replace(_then(way, step), share=_product(_product(way.share, step.share), passed))
                          for step in inner]  # fmt: skip
                if condition and (passed is None or passed < 1):
                    rest = None if passed is None else 1 - passed
                    going.append(replace(way, share=_product(way.share, rest), ended=True))
            ways = going
            if len(ways) > MOST_PATHS:
                break
        return ways

    def _passed(self, name: str, i: int, condition: str) -> float | None:
        """Return the share of queries that continue at a step; shares of a Switch are of all its queries."""
        node = self._tree.text("spec", "nodes", name, "steps", i, "nodeName")
        if not condition or (node and self._tree.text("spec", "nodes", node, "routerType") == "Switch"):
            return 1.0
        return self._share(f"{name}.{i + 1}", f"step {i + 1} of {name}, where {condition}", name, i)

    def _ensemble(self, name: str, steps: Sequence[int], above: tuple[str, ...]) -> list[_Way]:
        ways = [_Way(1.0)]
        for i in steps:
            ways = [
                replace(_beside(a, b), share=_product(a.share, b.share))
                for a in ways for b in self._step(name, i, above)
            ][: MOST_PATHS + 1]  # fmt: skip
        return [replace(w, ended=False) for w in ways]

    def _choice(self, name: str, kind: str, steps: Sequence[int], above: tuple[str, ...]) -> list[_Way]:
        ways: list[_Way] = []
        left: float | None = 1.0
        for i in steps:
            path = ("spec", "nodes", name, "steps", i)
            inner = self._step(name, i, above)
            label = self._tree.text(*path, "serviceName") or self._tree.text(*path, "nodeName") or str(i + 1)
            if kind == "Splitter":
                weight = self._tree.number(*path, "weight", most=100) or 0.0
                share: float | None = weight / 100
                self._ledger.read(
                    f"{self._graph}: {name} → {label}", f"{weight:g} %", self._tree.place_of(*path)
                )
            else:
                what = (
                    f"{label} of {name}, where {self._tree.text(*path, 'condition') or 'nothing else holds'}"
                )
                share = self._share(f"{name}.{label}", what, name, i)
            left = None if left is None or share is None else left - share
            marked = [replace(w, name="-".join(p for p in (label, w.name) if p)) for w in inner]
            ways += [replace(w, share=_product(w.share, share)) for w in marked]
        if left is not None and left < -1e-6:
            raise DeploymentError(
                f"{self._tree.place_of('spec', 'nodes', name)}: the shares of {name!r} add up to "
                f"{1 - left:.3g}, more than 1; lower them."
            )
        if kind == "Switch" and (left is None or left > 1e-9):
            ways.append(_Way(left, name="none", ended=True))
        return ways

    def _share(self, key: str, what: str, node: str, i: int) -> float | None:
        place = self._tree.place_of("spec", "nodes", node, "steps", i)
        return self._ledger.number(
            f"{self._graph}.{key}", f"share of queries that take {what}", place, "fraction"
        )


def _then(a: _Way, b: _Way) -> _Way:
    """Return one way after another."""
    b = _renamed(b, {s.name for s in a.stages})
    edges = a.edges + b.edges + tuple((u, v) for u in a.last for v in b.first)
    name = "-".join(p for p in (a.name, b.name) if p)
    return _Way(a.share, a.stages + b.stages, edges, a.first or b.first, b.last or a.last, name, b.ended)


def _beside(a: _Way, b: _Way) -> _Way:
    b = _renamed(b, {s.name for s in a.stages})
    name = "-".join(p for p in (a.name, b.name) if p)
    return _Way(a.share, a.stages + b.stages, a.edges + b.edges, a.first + b.first, a.last + b.last, name)


def _renamed(way: _Way, taken: set[str]) -> _Way:
    names: dict[str, str] = {}
    for stage in way.stages:
        name, number = stage.name, 2
        while name in taken or name in names.values():
            name, number = f"{stage.name}#{number}", number + 1
        names[stage.name] = name
    return replace(
        way,
        stages=tuple(replace(s, name=names[s.name]) for s in way.stages),
        edges=tuple((names[u], names[v]) for u, v in way.edges),
        first=tuple(names[f] for f in way.first),
        last=tuple(names[f] for f in way.last),
    )


def inference_graph(tree: Tree, batching: Mapping[str, Batching], ledger: Ledger) -> Found:
    """Return a graph of stages for each way through an InferenceGraph."""
    name = tree.text("metadata", "name") or "graph"
    ways = _Paths(tree, name, batching, ledger).node("root", ())
    graphs = []
    for way in ways:
        if not way.stages:
            ledger.not_used(f"{name}: queries that end before any service", f"{way.share}", tree.place_of())
            continue
        label = f"{name}-{way.name}"[:100] if way.name else name
        transfers = []
        for u, v in way.edges:
            size = ledger.number(
                f"{name}.bytes", f"bytes of a message between services of {name}", tree.place_of(), "size"
            )
            transfers.append(Transfer(u, v, u, size))
        steps = ", ".join(s.name for s in way.stages)
        share = "asked" if way.share is None else f"{100 * way.share:.4g} %"
        ledger.read(
            f"{name}: a way of {share} of the queries{', which ends early' if way.ended else ''}",
            steps,
            tree.place_of(),
        )
        graphs.append(StageGraph(label, way.stages, tuple(transfers), tree.place_of(), way.share, name))
    return Found(graphs=tuple(graphs))


def inference_service(tree: Tree, ledger: Ledger) -> tuple[str, Batching | None]:
    """Note the pool of an InferenceService; returns its name and its batcher."""
    name = tree.text("metadata", "name") or "service"
    path = ("spec", "predictor")
    limits = _limits(tree, path)
    gpu = next(
        (f"{n} × {key.removeprefix('nvidia.com/')}" for key, n in limits.items() if "nvidia.com/" in key), ""
    )
    least, most = tree.whole(*path, "minReplicas"), tree.whole(*path, "maxReplicas")
    replicas = f"{1 if least is None else least}{'' if most is None else f' to {most}'}"
    if least is not None and most is None:
        replicas = f"at least {least}"
    product = tree.text(*path, "nodeSelector", "nvidia.com/gpu.product")
    on = f", on {device_named(product) or product}" if product else ""
    at = tree.place_of(*path)
    ledger.read(f"{name}: replicas", f"{replicas}, each {gpu or 'on CPUs'}{on}", at)
    if (many := tree.whole(*path, "containerConcurrency")) is not None:
        ledger.read(f"{name}: queries at a time", str(many), tree.place_of(*path, "containerConcurrency"))
    target = tree.text("metadata", "annotations", "autoscaling.knative.dev/target")
    metric, scale = tree.text(*path, "scaleMetric"), tree.text(*path, "scaleTarget")
    if target:
        ledger.not_used(
            f"{name}: autoscaler, target of a pod", target, tree.place_of("metadata", "annotations")
        )
    if metric or scale:
        ledger.not_used(
            f"{name}: autoscaler by {metric or 'default'}", scale, tree.place_of(*path, "scaleTarget")
        )
    size, latency = (
        tree.whole(*path, "batcher", "maxBatchSize", most=1024),
        tree.number(*path, "batcher", "maxLatency"),
    )
    batching = Batching(size, (latency or 0.0) * 1e-3) if size and size > 1 else None
    if batching is not None:
        text = f"{{max_batch: {size}, delay: {latency or 0:g} ms}}"
        ledger.read(f"{name}: batching", text, tree.place_of(*path, "batcher"))
    return name, batching


def _limits(tree: Tree, path: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    containers = range(len(tree.entries(*path, "containers")))
    inside: list[tuple[str | int, ...]] = [(*path, "containers", i) for i in containers]
    places: list[tuple[str | int, ...]] = [(*path, "model"), *inside]
    for inner in places:
        for key in tree.mapping(*inner, "resources", "limits"):
            found[str(key)] = tree.text(*inner, "resources", "limits", key)
    return found


def ray_serve(tree: Tree, ledger: Ledger) -> Found:
    """Return the chains of Ray Serve's applications; who calls whom stands in code, and is asked."""
    graphs = []
    for a in range(len(tree.entries("applications"))):
        app = tree.text("applications", a, "name") or f"application {a + 1}"
        for d in range(len(tree.entries("applications", a, "deployments"))):
            _ray_pool(tree, ("applications", a, "deployments", d), app, ledger)
        code = tree.text("applications", a, "import_path")
        answer = ledger.ask(
            f"{app}.graph", f"who calls whom in {app}, as A, B: it is in the code of {code}",
            tree.place_of("applications", a, "import_path"),
        )  # fmt: skip

        if answer is not None:
            graphs.append(_chain(tree, a, app, str(answer), ledger))
    return Found(graphs=tuple(graphs))


def _chain(tree: Tree, a: int, app: str, answer: str, ledger: Ledger) -> StageGraph:
    """Return deployments that call each other one after the other."""
    path = ("applications", a, "deployments")
    places = {tree.text(*path, d, "name"): tree.place_of(*path, d) for d in range(len(tree.entries(*path)))}
    names = [n.strip() for n in answer.split(",")]
    for name in names:
        if name not in places or names.count(name) > 1:
            raise AnswerError(f"{app}.graph", f"{name[:60]!r} is no deployment of {app}, or stands twice.")
    stages = tuple(Stage(name, name, places[name]) for name in names)
    transfers = tuple(
        Transfer(
            u, v, u, ledger.number(f"{app}.{u}.bytes", f"bytes that {u} sends to {v}", places[u], "size")
        )
        for u, v in pairwise(names)
    )
    return StageGraph(app, stages, transfers, tree.place_of("applications", a))


def _ray_pool(tree: Tree, path: tuple[str | int, ...], app: str, ledger: Ledger) -> None:
    name = f"{app}: {tree.text(*path, 'name')}"
    options = (*path, "ray_actor_options")
    gpus, cpus = tree.number(*options, "num_gpus", most=64), tree.number(*options, "num_cpus", most=4096)
    kind = tree.text(*options, "accelerator_type")
    where = f"{gpus:g} of a GPU {device_named(kind) or kind}".strip() if gpus else f"{cpus or 1:g} CPU"
    if gpus and gpus >= 1:
        where = f"{gpus:g} GPU {device_named(kind) or kind}".strip()
    replicas = tree.text(*path, "num_replicas")
    scaling = (*path, "autoscaling_config")
    automatic = replicas == "auto" or bool(tree.mapping(*scaling))
    if automatic:
        least = tree.whole(*scaling, "min_replicas") if tree.mapping(*scaling) else 1
        most = tree.whole(*scaling, "max_replicas") or 100
        target = tree.number(*scaling, "target_ongoing_requests") or 2
        replicas = f"{1 if least is None else least} to {most}"
        ledger.not_used(f"{name}: autoscaler, target of a replica", f"{target:g}", tree.place_of(*scaling))
        for key in ("upscale_delay_s", "downscale_delay_s"):
            if (delay := tree.number(*scaling, key)) is not None:
                ledger.not_used(
                    f"{name}: autoscaler, {key.removesuffix('_s')}",
                    delay,
                    tree.place_of(*scaling, key),
                    "time",
                )
    ledger.read(f"{name}: replicas", f"{replicas or '1'}, each {where}", tree.place_of(*path))
    most_at_once = tree.whole(*path, "max_ongoing_requests")
    if most_at_once is not None:
        ledger.read(
            f"{name}: queries at a time", str(most_at_once), tree.place_of(*path, "max_ongoing_requests")
        )
    user = tree.mapping(*path, "user_config")
    if "max_batch_size" in user:
        size = tree.whole(*path, "user_config", "max_batch_size", most=1024) or 1
        wait = tree.number(*path, "user_config", "batch_wait_timeout_s") or 0.0
        ledger.ask(
            f"{tree.text(*path, 'name')}.batching", f"{name}: whether user_config means its batching",
            tree.place_of(*path, "user_config"),
            hint=f"{{max_batch: {size}, delay: {wait * 1e3:g} ms}}",
        )  # fmt: skip
