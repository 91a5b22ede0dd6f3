"""Ensembles of Triton as graphs of stages: tensors joined to their producers, ensembles inside expanded.

Source: triton-inference-server/server, docs/user_guide/architecture.md, ensemble models: a step runs once
the tensors that it reads are there; the order in which steps are written means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from nona.core.errors import DeploymentError
from nona.deployment.facts import Ledger
from nona.deployment.found import Batching, Stage, StageGraph, Transfer
from nona.deployment.triton import Step, TritonModel, pools_text
from nona.scenario.gate import one_line

MOST_STAGES = 1000
MOST_DEPTH = 20


@dataclass(frozen=True, slots=True)
class _Made:
    """A tensor: the stage that makes it (``None``: the query brings it), its name, its bytes."""

    stage: str | None
    tensor: str
    size_bytes: float | None
    own: str = ""  # its name in its model


@dataclass
class _Expansion:
    models: Mapping[str, TritonModel]
    ledger: Ledger
    root: str
    sizes: Mapping[str, Mapping[str, float]]
    stages: list[Stage] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)

    def expand(
        self, model: TritonModel, path: str, given: Mapping[str, _Made], version: str, above: tuple[str, ...]
    ) -> dict[str, _Made]:
        """Add the stages of a model whose inputs are ``given``; returns its outputs."""
        if model.name in above or len(above) > MOST_DEPTH:
            way = one_line(" → ".join((*above, model.name)))[:200]
            raise DeploymentError(f"{model.place}: ensembles call each other in a circle, {way}; remove one.")
        if not model.steps:
            return self._leaf(model, path, given, version)
        tensors = dict(given)
        left = list(model.steps)
        while left:
            ready = [s for s in left if all(t in tensors for t in s.inputs.values())]
            if not ready:
                step = left[0]
                missing = next(t for t in step.inputs.values() if t not in tensors)
                raise DeploymentError(
                    f"{step.place}: nothing makes tensor {missing[:80]!r} that {step.model!r} reads; name "
                    "it "
                    "in an output_map, or remove the circle of steps."
                )
            for step in ready:
                left.remove(step)
                tensors |= self._step(model, step, path, tensors, (*above, model.name))
        return {name: tensors[name] for name in model.outputs if name in tensors}

    def _step(
        self,
        ensemble: TritonModel,
        step: Step,
        path: str,
        tensors: Mapping[str, _Made],
        above: tuple[str, ...],
    ) -> dict[str, _Made]:
        inner = self.models.get(step.model)
        if inner is None:
            raise DeploymentError(
                f"{step.place}: the step's model {step.model[:80]!r} is not among the files; give its folder."
            )
        if twice := [t for t in step.outputs.values() if t in tensors]:
            raise DeploymentError(f"{step.place}: two steps make the tensor {twice[0][:80]!r}; rename one.")
        given = {own: tensors[outer] for own, outer in step.inputs.items()}
        name = f"{path}{step.model}"
        taken = {stage.name for stage in self.stages}
        number = 1
        while (unused := name if number == 1 else f"{name}#{number}") in taken:
            number += 1
        outputs = self.expand(inner, f"{unused}/" if inner.steps else unused, given, step.version, above)
        made = {}
        for own, outer in step.outputs.items():
            tensor = outputs.get(own)
            if tensor is None:
                if inner.steps:
                    raise DeploymentError(
                        f"{step.place}: {step.model!r} has no output {own[:80]!r}; correct the output_map."
                    )
                tensor = _Made(unused, "", None)
            made[outer] = tensor if inner.steps else replace(tensor, tensor=f"{path}{outer}")
        return made

    def _leaf(
        self, model: TritonModel, name: str, given: Mapping[str, _Made], version: str
    ) -> dict[str, _Made]:
        if len(self.stages) >= MOST_STAGES:
            raise DeploymentError(f"{model.place}: more than {MOST_STAGES} steps; give a smaller ensemble.")
        if model.inputs and (unknown := next((t for t in given if t not in model.inputs), "")):
            raise DeploymentError(
                f"{model.place}: {model.name!r} has no input {unknown[:80]!r}; correct the input_map."
            )
        number = int(version) if version.isdigit() and len(version) < 10 else (model.versions or (1,))[-1]
        onnx = model.onnx.get(number, "")
        self.stages.append(
            Stage(name, model.name, model.place, model.pools, model.batching, onnx, str(number))
        )
        for own, tensor in given.items():
            if tensor.stage is not None:
                self._transfer(tensor, name, model.inputs.get(own))
        sizes = self.sizes.get(onnx, {})
        return {
            own: _Made(name, own, size if size is not None else sizes.get(own), own)
            for own, size in {**dict.fromkeys(sizes), **model.outputs}.items()
        }

    def _transfer(self, tensor: _Made, target: str, read_as: float | None) -> None:
        size = tensor.size_bytes if tensor.size_bytes is not None else read_as
        if size is None:
            short = tensor.tensor.rpartition("/")[2]
            size = self.ledger.number(
                f"{self.root}.{short}.bytes",
                f"bytes of {short}, {tensor.stage} → {target}",
                next(s.place for s in self.stages if s.name == target),
                "size",
            )
        self.transfers.append(Transfer(str(tensor.stage), target, tensor.tensor, size, tensor.own))


def stage_graph(
    root: TritonModel,
    models: Mapping[str, TritonModel],
    sizes: Mapping[str, Mapping[str, float]],
    ledger: Ledger,
) -> StageGraph:
    """Return the stages of a root's queries.

    ``sizes``: bytes of the outputs of an ONNX file, by the file's name and theirs.
    """
    expansion = _Expansion(models, ledger, root.name, sizes)
    inputs = {name: _Made(None, name, size) for name, size in root.inputs.items()}
    expansion.expand(root, "" if root.steps else root.name, inputs if root.steps else {}, "", ())
    graph = StageGraph(root.name, tuple(expansion.stages), tuple(expansion.transfers), root.place)
    _report(graph, models, ledger)
    return graph


def batching_text(batching: Batching) -> str:
    """Return batching as a scenario writes it.

    >>> batching_text(Batching(32, 2e-3, (8, 16))), batching_text(Batching())
    ('{max_batch: 32, rule: triton, delay: 2 ms, preferred: [8, 16]}', 'off')
    """
    settings = batching_settings(batching)
    if settings is None:
        return "off"
    parts = [f"{key}: {value}" for key, value in settings.items()]
    return f"{{{', '.join(parts)}}}"


def batching_settings(batching: Batching) -> dict[str, object] | None:
    """Return batching as the data of a scenario; ``None`` where queries run one by one."""
    if batching.max_batch < 2:
        return None
    settings: dict[str, object] = {"max_batch": batching.max_batch}
    if batching.preferred:
        settings["rule"] = "triton"
    if batching.delay_s:
        settings["delay"] = f"{batching.delay_s * 1e3:.12g} ms"
    if batching.preferred:
        settings["preferred"] = list(batching.preferred)
    return settings


def _report(graph: StageGraph, models: Mapping[str, TritonModel], ledger: Ledger) -> None:
    ledger.read(f"{graph.name}: tasks", ", ".join(stage.name for stage in graph.stages), graph.place)
    for stage in graph.stages:
        name = stage.name if stage.name == graph.name else f"{graph.name}: {stage.name}"
        model = models[stage.service]
        if stage.pools:
            ledger.read(f"{name}: instances", pools_text(stage.pools), model.place_of("instances"))
        if stage.batching is not None:
            ledger.read(f"{name}: batching", batching_text(stage.batching), model.place_of("batching"))
        if len(model.versions) > 1 or stage.version != "1":
            ledger.read(f"{name}: version", stage.version, stage.place)
    for transfer in graph.transfers:
        if transfer.size_bytes is not None:
            what = f"{graph.name}: {transfer.source} → {transfer.target}, bytes of {transfer.tensor}"
            made = next(models[s.service] for s in graph.stages if s.name == transfer.source)
            ledger.read(what, transfer.size_bytes, made.place_of(transfer.own), "size")
