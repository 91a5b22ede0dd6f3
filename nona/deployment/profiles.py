"""Profiles of one model: times and layers of trtexec, ONNX Runtime's trace.

Source: NVIDIA/TensorRT, samples/common/sampleReporting.cpp; microsoft/onnxruntime, profiler. Fused layers are
written ``a + b`` or ``{ForeignNode[a...b]}``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from statistics import median

from nona.core.errors import DeploymentError
from nona.deployment.facts import Ledger, text_of
from nona.deployment.found import Found, FoundProfile, FoundTimes
from nona.deployment.located import Tree
from nona.scenario.gate import entries, mapping

_NONE = re.compile(r"^(?:Reformatting|Reformat|Memcpy|copy)", re.IGNORECASE)
_KERNEL = "_kernel_time"


@dataclass(frozen=True, slots=True)
class _Question:
    stem: str
    place: str

    def model(self, ledger: Ledger) -> str:
        """Return the model that was measured, or ask for it."""
        return str(ledger.ask(f"{self.stem}.model", f"model that {self.place} measured", self.place) or "")

    def batch(self, ledger: Ledger) -> float | None:
        """Return the inputs that ran together, or ask; the file's name may tell them (``_b8``)."""
        what = f"inputs that ran together in {self.place}"
        return ledger.number(f"{self.stem}.batch", what, self.place, "count", self.likely_batch)

    @property
    def likely_batch(self) -> float | None:
        """The inputs that its file's name tells."""
        hint = re.search(r"(?:_b|batch[_-]?)(\d{1,4})(?!\d)", self.stem)
        return float(hint[1]) if hint else None


def _question(tree: Tree) -> _Question:
    return _Question(PurePosixPath(tree.file).stem, tree.place_of())


def trtexec_times(tree: Tree, ledger: Ledger) -> Found:
    """Return the median computing time of ``trtexec --exportTimes`` as that of a whole model."""
    times = [
        t for i in range(len(tree.entries())) if (t := tree.number(i, "computeMs", most=1e9)) is not None
    ]
    if not times:
        raise DeploymentError(
            f"{tree.place_of()}: no entry has computeMs; export with trtexec --exportTimes."
        )
    question = _question(tree)
    seconds = median(times) * 1e-3
    ledger.read(f"{question.stem}: median compute of {len(times)} runs", seconds, tree.place_of(0), "time")
    model, batch = question.model(ledger), question.batch(ledger)
    if not model or batch is None or seconds <= 0:
        return Found()
    return Found(times=(FoundTimes(model, {int(batch): seconds}, tree.place_of(0)),))


def trtexec_profile(tree: Tree, ledger: Ledger) -> Found:
    """Return the layers of ``trtexec --exportProfile``; copies are of none."""
    question, layers, copies_s = _question(tree), list[tuple[str, float]](), 0.0
    stem = question.stem
    for i in range(len(tree.entries())):
        name, ms = tree.text(i, "name"), tree.number(i, "averageMs", most=1e9)
        if not name or ms is None:
            continue
        if _NONE.match(name):
            copies_s += ms * 1e-3
            what = f"{stem}: a copy that belongs to no operator: {name}"
            ledger.not_used(what, ms * 1e-3, tree.place_of(i), "time")
        else:
            layers.append((name, ms * 1e-3))
            ledger.read(f"{stem}: layer {name}", ms * 1e-3, tree.place_of(i), "time")
    total_s = copies_s + sum(time_s for _, time_s in layers)
    ledger.read(f"{stem}: all layers together", total_s, tree.place_of(), "time")
    return _found(question, layers, copies_s)


def _found(question: _Question, layers: Sequence[tuple[str, float]], copies_s: float = 0.0) -> Found:
    profile = FoundProfile(question.stem, question.place, tuple(layers), copies_s, question.likely_batch)
    return Found(profiles=(profile,)) if layers else Found()


def trtexec_layers(tree: Tree, ledger: Ledger) -> None:
    """Note the layers of ``trtexec --exportLayerInfo``, which have no times."""
    for i, layer in enumerate(tree.entries("Layers")):
        name = layer if isinstance(layer, str) else tree.text("Layers", i, "Name")
        ledger.not_used("layer without a time", str(name)[:200], tree.place_of("Layers", i))


def ort_profile(tree: Tree, ledger: Ledger) -> Found:
    """Return the median time of each operator in ONNX Runtime's trace; fences and sessions are none."""
    events = entries(tree.get("traceEvents") if isinstance(tree.data, Mapping) else tree.data)
    base = ("traceEvents",) if isinstance(tree.data, Mapping) else ()
    seen: dict[str, list[float]] = {}
    first: dict[str, tuple[int, Mapping[str, object]]] = {}
    for i, event in enumerate(events):
        name = mapping(event).get("name")
        if not isinstance(name, str) or mapping(event).get("cat") != "Node" or not name.endswith(_KERNEL):
            continue
        duration = tree.number(*base, i, "dur", most=1e12)
        operator = name.removesuffix(_KERNEL)
        seen.setdefault(operator, []).append(duration or 0.0)
        first.setdefault(operator, (i, mapping(mapping(event).get("args"))))
    if not seen:
        raise DeploymentError(
            f"{tree.place_of()}: no event of an operator of ONNX Runtime; traces of other programs are not "
            "read."
        )
    question, layers = _question(tree), list[tuple[str, float]]()
    stem = question.stem
    cuda = any(args.get("provider") == "CUDAExecutionProvider" for _, args in first.values())
    for operator, durations in seen.items():
        i, args = first[operator]
        time_s, place = median(durations[1:] or durations) * 1e-6, tree.place_of(*base, i)
        host = cuda and args.get("provider") == "CPUExecutionProvider"
        if _NONE.match(operator):
            ledger.not_used(f"{stem}: {operator}, outside the model", time_s, place, "time")
        else:
            layers.append((operator, time_s))
            ledger.read(
                f"{stem}: {operator}{', on the CPU: a host step' if host else ''}", time_s, place, "time"
            )
    total = text_of(sum(time_s for _, time_s in layers), "time")
    if not cuda:
        ledger.not_used(f"{stem}: times of operators", f"{total} in all, of a CPU", tree.place_of())
        return Found()
    what = f"{stem}: times of operators on CUDA hold for the GPU"
    ledger.assume(what, f"{total} in all, by the host's clock: kernels may run on", tree.place_of())
    return _found(question, layers)
