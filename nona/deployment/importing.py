"""Files of a running cluster, read into a scenario: each recognized, all joined, questions named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import yaml

from nona.core.errors import DeploymentError, GraphError
from nona.deployment.ensembles import stage_graph
from nona.deployment.facts import AnswerError, Facts, Ledger
from nona.deployment.files import GivenFile
from nona.deployment.found import Batching, Found, FoundTimes, Stage, StageGraph
from nona.deployment.gpu_sharing import shared_servers
from nona.deployment.joining import join
from nona.deployment.kinds import Kind, RecognizedFile, recognize
from nona.deployment.kserve import inference_graph, inference_service, ray_serve
from nona.deployment.load_tests import aiperf, aiperf_records, model_analyzer, perf_analyzer
from nona.deployment.measured import measured_model
from nona.deployment.nodes import node_servers
from nona.deployment.profiles import ort_profile, trtexec_layers, trtexec_profile, trtexec_times
from nona.deployment.prometheus import scrapes
from nona.deployment.smi import smi_servers
from nona.deployment.triton import TritonModel, repository
from nona.deployment.vllm import engines
from nona.deployment.workloads import workloads
from nona.models.graph.guard import GuardedWorker
from nona.models.graph.model import MissingDimensions, ModelGraph
from nona.models.graph.readers import read_model


@dataclass(frozen=True, slots=True)
class Imported:
    """A scenario as it was found.

    Parameters
    ----------
    facts
        What was read, assumed, not used and asked.
    data
        The scenario's data; where something is asked it has what a scenario's reader refuses.
    files
        Files that the scenario names.
    sources
        Names of the files that were read.
    """

    facts: Facts
    data: Mapping[str, Any]
    files: Mapping[str, bytes]
    sources: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """True where nothing is asked and there is something to run."""
        return not self.facts.asked and bool(self.data["cluster"]["servers"])

    @property
    def text(self) -> str:
        """The scenario as YAML; questions stand at its top."""
        lines = [f"# Read from {', '.join(self.sources[:10])}{' …' if len(self.sources) > 10 else ''}"]
        if self.facts.asked:
            lines.append(
                "# Still asked; give each where it stands below, or import again with --set KEY=VALUE:"
            )
        lines += [
            f"#   {fact.key}: {fact.what}{f' (perhaps {fact.value})' if fact.value else ''} [{fact.place}]"
            for fact in self.facts.asked
        ]
        body = yaml.safe_dump(dict(self.data), sort_keys=False, allow_unicode=True, width=100)
        return "\n".join([*lines, body])


def import_files(files: Sequence[GivenFile], answers: Mapping[str, str] | None = None) -> Imported:
    """Return the scenario of what the files describe.

    ``answers``: by key, what a person said to questions of an earlier import of the same files.

    Raises ``DeploymentError`` in one line, with file and place, for a file that cannot be read, and where
    none of the files is of a known kind.
    """
    ledger = Ledger(dict(answers or {}))
    recognized = [recognize(file) for file in files]
    by_kind: dict[Kind, list[RecognizedFile]] = {}
    for one in recognized:
        by_kind.setdefault(one.kind, []).append(one)
    known = [t for t in recognized if t.kind not in ("other", "onnx")]
    if not known and "onnx" not in by_kind:
        names = ", ".join(f.name for f in files[:5]) or "nothing"
        raise DeploymentError(
            f"{names}: no file of a known kind; give a Triton repository, nodes, a vLLM command, Prometheus "
            "scrapes, a load test, a profile, or KServe objects."
        )
    found, graphs = _triton(files, ledger)
    parted = [t.file for t in by_kind.get("mig-parted", [])]
    for nodes in by_kind.get("nodes", []):
        found += node_servers(nodes.tree, parted, ledger)
    smi = [(t.kind, t.file) for t in recognized if t.kind.startswith("smi-")]
    if smi:
        found += smi_servers(smi, ledger)
    more, extra = _language(by_kind, ledger)
    found += more
    found += _load_tests(by_kind, ledger)
    found += _profiles(by_kind, ledger)
    measured, models = _measured(found, graphs, [t.file for t in by_kind.get("onnx", [])], ledger)
    found, extra = found + measured, {**extra, **models}
    found += _services(by_kind, ledger)
    plugins = [(t.file, t.tree) for t in by_kind.get("device-plugin", [])]
    if (parted or plugins) and not (found.servers or found.engines):
        found += shared_servers(parted, plugins, ledger)
    found += _alone(found)
    joined = join(found, graphs, extra, ledger)
    return Imported(ledger.facts(), joined.scenario, joined.files, tuple(t.file.name for t in known))


def _triton(files: Sequence[GivenFile], ledger: Ledger) -> tuple[Found, dict[str, ModelGraph]]:
    """Return the graphs of a repository's roots: the models that no step names."""
    models = repository(files, ledger)
    if not models:
        return Found(), {}
    stepped = {step.model for m in models.values() for step in m.steps}
    roots = sorted(
        (m for m in models.values() if m.name not in stepped and not m.sequences),
        key=lambda m: (not m.steps, m.name),
    )
    roots = roots or [m for m in models.values() if m.steps]  # a circle, which is refused with its way
    roots = [m for m in roots if not ledger.left_out(m.name, "rate")]
    used = _reached(roots, models)
    graphs = _onnx_graphs(used, files, ledger)
    sizes = {name: _outputs(graph) for name, graph in graphs.items()}
    stage_graphs = []
    for root in roots:
        graph = stage_graph(root, models, sizes, ledger)
        if root.calls is not None:
            graph = _with_calls(graph, root, models, sizes, ledger)
        stage_graphs.append(graph)
    modelled = [m for m in used if any(name in graphs for name in m.onnx.values())]
    precisions = {m.precision for m in modelled}
    return Found(
        graphs=tuple(stage_graphs),
        precision=precisions.pop() if len(precisions) == 1 else "",
        stack="" if not modelled else "tensorrt" if all(m.accelerated for m in modelled) else "onnxruntime",
    ), graphs


def _reached(roots: Sequence[TritonModel], models: Mapping[str, TritonModel]) -> list[TritonModel]:
    reached: dict[str, TritonModel] = {}
    left = list(roots)
    while left:
        model = left.pop()
        if model.name in reached:
            continue
        reached[model.name] = model
        left += [models[s.model] for s in model.steps if s.model in models]
        left += [models[name] for name in model.calls or () if name in models]
    return list(reached.values())


def _with_calls(
    graph: StageGraph,
    root: TritonModel,
    models: Mapping[str, TritonModel],
    sizes: Mapping[str, Mapping[str, float]],
    ledger: Ledger,
) -> StageGraph:
    """Return the graph of a model whose code calls others: one after the other, as a person says."""
    hint = ", ".join(root.calls or ()) or None
    answer = ledger.ask(
        f"{root.name}.calls",
        f"models that the code of {root.name} calls, one after the other: its graph is code (none: no other)",
        root.place, hint=hint,
    )  # fmt: skip
    names = [n.strip() for n in str(answer or "").split(",") if n.strip() and n.strip() != "none"]
    stages, transfers = list(graph.stages), list(graph.transfers)
    for name in names:
        if name not in models or name == root.name:
            raise AnswerError(f"{root.name}.calls", f"{name[:60]!r} is no other model of the repository.")
        inner = stage_graph(models[name], models, sizes, ledger)
        stages += [s for s in inner.stages if s.name not in {t.name for t in stages}]
        transfers += inner.transfers
    return StageGraph(graph.name, tuple(stages), tuple(transfers), graph.place)


def _onnx_graphs(
    models: Sequence[TritonModel], files: Sequence[GivenFile], ledger: Ledger
) -> dict[str, ModelGraph]:
    """Return the graphs of the models' ONNX files, read in a guarded process; damaged ones are named."""
    data = {f.name: f.data for f in files}
    graphs: dict[str, ModelGraph] = {}
    with GuardedWorker() as worker:
        for model in models:
            for name in model.onnx.values():
                sizes: dict[str, int] = {}
                batched = model.batching.max_batch > 1
                graph = _onnx_graph(model.name, sizes, name, data[name], worker, ledger, batched)
                if graph is not None:
                    graphs[name] = graph
    return graphs


def _onnx_graph(
    model: str,
    symbols: dict[str, int],
    name: str,
    data: bytes,
    worker: GuardedWorker,
    ledger: Ledger,
    batched: bool = False,
) -> ModelGraph | None:
    """Return the graph of a file; sizes of open dimensions are asked, and put into ``symbols``."""
    for _ in range(2):
        try:
            return read_model(data, PurePosixPath(name).name, symbols=symbols, worker=worker)
        except MissingDimensions as question:
            for i, symbol in enumerate(question.names):
                batch = i == 0 and batched
                size = 1.0 if batch else ledger.number(
                    f"{model}.{symbol}", f"size of the dimension {symbol} of {model}", f"{name}:1",
                    "count",
                )  # fmt: skip
                if size is None:
                    return None
                symbols[symbol] = int(size)
        except GraphError as error:
            ledger.not_used(f"{model}: its graph", str(error), f"{name}:1")
            return None
    return None


def _outputs(graph: ModelGraph) -> dict[str, float]:
    """Return the bytes of the tensors that no operator of a graph reads."""
    read = {tensor for operator in graph.operators for tensor in operator.inputs}
    made = [tensor for operator in graph.operators for tensor in operator.outputs if tensor not in read]
    return {name: graph.tensors[name].size_bytes for name in made if name in graph.tensors}


def _language(by_kind: Mapping[Kind, list[RecognizedFile]], ledger: Ledger) -> tuple[Found, dict[str, bytes]]:
    scripts = [t.file for t in by_kind.get("vllm-command", [])]
    configs = [t.tree for t in by_kind.get("vllm-config", []) if t.trees]
    models = [t.file for t in by_kind.get("hf-config", [])]
    found, files = engines(scripts, configs, models, ledger)
    whole = Found(engines=tuple(found))
    for one in by_kind.get("aiperf", []):
        whole += aiperf(one.tree, ledger)
    for one in by_kind.get("aiperf-records", []):
        more, traces = aiperf_records(one.file, ledger)
        whole, files = whole + more, {**files, **traces}
    deployments = [tree for t in by_kind.get("workloads", []) for tree in t.trees]
    more, configs_of = workloads(deployments, models, ledger)
    whole, files = whole + more, files | configs_of
    pair = [t.file for t in by_kind.get("prometheus", [])]
    return (whole + scrapes(pair, ledger) if pair else whole), files


def _load_tests(by_kind: Mapping[Kind, list[RecognizedFile]], ledger: Ledger) -> Found:
    found = Found()
    for one in by_kind.get("perf-analyzer", []):
        found += perf_analyzer(one.file, ledger)
    for one in by_kind.get("model-analyzer", []):
        model_analyzer(one.file, ledger)
    return found


def _profiles(by_kind: Mapping[Kind, list[RecognizedFile]], ledger: Ledger) -> Found:
    found = Found()
    for one in by_kind.get("trtexec-times", []):
        found += trtexec_times(one.tree, ledger)
    for one in by_kind.get("ray-serve", []):
        found += ray_serve(one.tree, ledger)
    for one in by_kind.get("trtexec-profile", []):
        found += trtexec_profile(one.tree, ledger)
    for one in by_kind.get("ort-profile", []):
        found += ort_profile(one.tree, ledger)
    for one in by_kind.get("trtexec-layers", []):
        trtexec_layers(one.tree, ledger)
    return found


def _measured(
    found: Found, graphs: Mapping[str, ModelGraph], files: Sequence[GivenFile], ledger: Ledger
) -> tuple[Found, dict[str, bytes]]:
    """Return what profiles measured: steps of stages, and models of their own with their files."""
    if not found.profiles:
        return Found(), {}
    stages = {stage.onnx: stage for graph in found.graphs for stage in graph.stages if stage.onnx}
    others = {file.base: file.data for file in files if file.name not in graphs and file.name not in stages}
    alone, symbols = dict[str, ModelGraph](), dict[str, dict[str, int]]()
    with GuardedWorker() as worker:
        for name, data in others.items():
            symbols[name] = {}
            graph = _onnx_graph(PurePosixPath(name).stem, symbols[name], name, data, worker, ledger)
            if graph is not None:
                alone[name] = graph
    whole, used = Found(), dict[str, bytes]()
    for profile in found.profiles:
        model = measured_model(profile, {**graphs, **alone}, ledger)
        if model is None:
            continue
        if model.file in stages:
            times = {model.batch: model.step_s}
            whole += Found(times=(FoundTimes(stages[model.file].service, times, profile.place),))
        elif model.file not in used:
            name, sizes = PurePosixPath(model.file).stem, symbols[model.file]
            row = StageGraph(name, (), (), profile.place, measured=model, symbols=sizes)
            whole += Found(graphs=(row,))
            used[model.file] = others[model.file]
        else:
            ledger.not_used(
                f"{profile.stem}: its layers", f"{model.file} has a profile already", profile.place
            )
    return whole, used


def _services(by_kind: Mapping[Kind, list[RecognizedFile]], ledger: Ledger) -> Found:
    """Return the graphs of KServe; services that no graph names are graphs of one task."""
    trees = [tree for one in by_kind.get("kserve", []) for tree in one.trees]
    services: dict[str, tuple[Batching | None, str]] = {}
    for tree in trees:
        if tree.text("kind") == "InferenceService":
            name, batching = inference_service(tree, ledger)
            services[name] = (batching, tree.place_of())
    found = Found()
    batchings = {name: batching for name, (batching, _) in services.items() if batching is not None}
    for tree in trees:
        if tree.text("kind") == "InferenceGraph":
            found += inference_graph(tree, batchings, ledger)
    named = {stage.service for graph in found.graphs for stage in graph.stages}
    alone = [plain_graph(n, place, b) for n, (b, place) in services.items() if n not in named]
    return found + Found(graphs=tuple(alone))


def _alone(found: Found) -> Found:
    """Return a graph of one task for each model of which times or traffic were seen and no graph has it."""
    named = {stage.service for graph in found.graphs for stage in graph.stages}
    named |= {graph.rate_of or graph.name for graph in found.graphs}
    seen = {t.service: t.place for t in found.times}
    seen |= {load.service: load.place for load in found.loads if not (load.tokens or load.trace)}
    return Found(graphs=tuple(plain_graph(n, place) for n, place in seen.items() if n and n not in named))


def plain_graph(name: str, place: str, batching: Batching | None = None) -> StageGraph:
    """Return the graph of a service that is one task."""
    return StageGraph(name, (Stage(name, name, place, batching=batching),), (), place)
