"""The kind of a file, recognized by its content; its tree where it is YAML or JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from nona.core.errors import DeploymentError
from nona.deployment.files import GivenFile
from nona.deployment.located import Tree, json_tree, yaml_trees

Kind = Literal[
    "triton",
    "onnx",
    "nodes",
    "smi-list",
    "smi-csv",
    "smi-mig",
    "smi-topo",
    "vllm-command",
    "vllm-config",
    "hf-config",
    "prometheus",
    "perf-analyzer",
    "model-analyzer",
    "aiperf",
    "aiperf-records",
    "trtexec-times",
    "trtexec-profile",
    "trtexec-layers",
    "ort-profile",
    "kserve",
    "workloads",
    "ray-serve",
    "mig-parted",
    "device-plugin",
    "other",
]


@dataclass(frozen=True, slots=True)
class RecognizedFile:
    """A file with its kind; ``trees``: its documents of YAML or JSON."""

    kind: Kind
    file: GivenFile
    trees: tuple[Tree, ...] = ()

    @property
    def tree(self) -> Tree:
        """Its only document, or its first."""
        return self.trees[0]


_PROMETHEUS = re.compile(
    r"^(?:# (?:HELP|TYPE) \w|(?:nv_|vllm:|DCGM_|sglang:)[\w:]*(?:\{[^\n]*\})? [-+.\deENaIinf]+)", re.MULTILINE
)
_TEXTS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("smi-mig", re.compile(r"GPU instances:[\s\S]{0,400}Start:Size")),
    ("smi-list", re.compile(r"^GPU \d+: .+\(UUID: GPU-", re.MULTILINE)),
    ("smi-topo", re.compile(r"^\s+GPU0\b.*\n(?:.*\n){0,1}?GPU0\s+X", re.MULTILINE)),
    ("smi-csv", re.compile(r"\A\s*(?:\w[\w.]*(?: \[\w+%?\])?, )*index, |\A\s*index, name")),
    ("perf-analyzer", re.compile(r"^(?:Concurrency|Request Rate),Inferences/Second", re.MULTILINE)),
    ("model-analyzer", re.compile(r"\AModel,(?:[^\n]*,)?(?:Throughput|Model Config Path)")),
    ("vllm-command", re.compile(r"\bvllm\s+serve\b|vllm\.entrypoints\.")),
    ("prometheus", _PROMETHEUS),
)
_VLLM_KEYS = frozenset(
    {
        "max-num-seqs", "max-model-len", "max-num-batched-tokens", "tensor-parallel-size",
        "gpu-memory-utilization", "kv-cache-dtype", "enable-prefix-caching", "no-enable-prefix-caching",
        "enable-chunked-prefill", "num-gpu-blocks-override", "kv-transfer-config", "speculative-config",
        "pipeline-parallel-size", "data-parallel-size", "served-model-name", "quantization",
        "enforce-eager",
    }
)  # fmt: skip


def recognize(file: GivenFile) -> RecognizedFile:
    """Return a file with its kind.

    Raises ``DeploymentError`` with file and line for YAML or JSON that is damaged.
    """
    if file.base.endswith(".onnx"):
        return RecognizedFile("onnx", file)
    if file.base.endswith(".pbtxt"):
        return RecognizedFile("triton", file)
    text = file.text
    if text is None or not text.strip() or file.base.endswith((".py", ".md", ".rst")):
        return RecognizedFile("other", file)
    if text.lstrip()[:1] in ("{", "["):
        return _json(file, text)
    for kind, pattern in _TEXTS:
        if pattern.search(text[:200_000]):
            return RecognizedFile(kind, file)
    if file.base.endswith((".yaml", ".yml")) or re.search(
        r"^(?:apiVersion|applications|version|model):", text, re.M
    ):
        return _yaml(file, text)
    return RecognizedFile("other", file)


def _json(file: GivenFile, text: str) -> RecognizedFile:
    head = text.lstrip()
    lines = [line for line in head.split("\n") if line.strip()]
    if len(lines) > 1 and lines[0].rstrip().endswith("}") and lines[1].lstrip().startswith("{"):
        if '"metrics"' in lines[0] or '"metadata"' in lines[0]:
            return RecognizedFile("aiperf-records", file)
        return RecognizedFile("other", file)
    if head.startswith("{") and not re.match(r'\{\s*["}]', head):
        return _yaml(file, text)  # YAML in flow style
    tree = json_tree(text, file.name)
    return RecognizedFile(_json_kind(tree.data), file, (tree,))


def _json_kind(data: Any) -> Kind:
    if isinstance(data, list):
        first = next((entry for entry in data if isinstance(entry, Mapping)), {})
        last = data[-1] if data and isinstance(data[-1], Mapping) else {}
        if "computeMs" in first or "startComputeMs" in first:
            return "trtexec-times"
        if "averageMs" in last or "timeMs" in last:
            return "trtexec-profile"
        if any(isinstance(e, Mapping) and e.get("cat") in ("Node", "Session") for e in data[:200]):
            return "ort-profile"
        return "other"
    if not isinstance(data, Mapping):
        return "other"
    kind = _object_kind(data)
    if kind != "other":
        return kind
    if "request_throughput" in data or "time_to_first_token" in data:
        return "aiperf"
    if "Layers" in data:
        return "trtexec-layers"
    if isinstance(data.get("traceEvents"), list):
        return "ort-profile"
    if {"hidden_size", "n_embd", "d_model", "text_config"} & data.keys():
        return "hf-config"
    return _vllm(data)


def _object_kind(data: Mapping[str, Any]) -> Kind:
    """Return the kind of an object of Kubernetes, or of a list of them."""
    items = data.get("items")
    inner = items[0] if isinstance(items, list) and items and isinstance(items[0], Mapping) else data
    api, kind = str(inner.get("apiVersion", "")), inner.get("kind")
    if kind in ("InferenceService", "InferenceGraph") or api.startswith("serving.kserve.io"):
        return "kserve"
    if kind in ("Deployment", "StatefulSet", "Pod"):
        return "workloads"
    status = inner.get("status")
    if kind == "Node" or (isinstance(status, Mapping) and {"allocatable", "capacity"} & status.keys()):
        return "nodes"
    return "other"


def _vllm(data: Mapping[str, Any]) -> Kind:
    keys = {str(key).replace("_", "-") for key in data}
    return "vllm-config" if keys & _VLLM_KEYS else "other"


def _yaml(file: GivenFile, text: str) -> RecognizedFile:
    trees = tuple(yaml_trees(text, file.name))
    kind: Kind = "other"
    for tree in trees:
        if isinstance(tree.data, Mapping):
            kind = _yaml_kind(tree.data, file)
            if kind != "other":
                break
    return RecognizedFile(kind, file, trees)


def _yaml_kind(data: Mapping[str, Any], file: GivenFile) -> Kind:
    if "cluster" in data and "version" in data:
        raise DeploymentError(f"{file.name}:1: it is a scenario already; open it as one.")
    kind = _object_kind(data)
    if kind != "other":
        return kind
    if isinstance(data.get("applications"), list):
        return "ray-serve"
    held = data.get("data") if data.get("kind") == "ConfigMap" else None
    if "mig-configs" in data or (isinstance(held, Mapping) and "mig-configs:" in str(held)):
        return "mig-parted"
    if "sharing" in data:
        return "device-plugin"
    return _vllm(data)
