"""Objects of Kubernetes: a Deployment for the engines, GPUs or slices of each server group."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from nona.cluster.hardware.device import find_device, user_devices
from nona.cluster.hardware.mig import parse_layout
from nona.deployment.writing import Standing, group_annotations, group_name, plain_name, selector
from nona.scenario.cluster import ServerGroupSpec
from nona.scenario.language import EngineSpec
from nona.scenario.schema import Scenario

IMAGE = {"vllm": "IMAGE-OF-VLLM", "triton": "IMAGE-OF-TRITON"}
STORAGE = "CLAIM-WITH-MODELS"
_WRITTEN = frozenset(
    {
        "model",
        "tp",
        "sequences",
        "budget",
        "blocks",
        "utilization",
        "prefix_cache",
        "graphs",
        "chunked",
        "lookahead",
        "kv",
        "role",
    }
)
_ROLES = {"prefill": "kv_producer", "decode": "kv_consumer"}


def kubernetes_files(standing: Standing) -> dict[str, str]:
    """Return the Deployments, the commands of the engines, and the list of placeholders."""
    scenario = standing.scenario
    objects = list(_deployments(scenario))
    documents = [yaml.safe_dump(o, sort_keys=False, width=100) for o in objects]
    comment = standing.comment + "".join(f"# {line}\n" for line in unwritten(scenario))
    files = {"deployments.yaml": comment + "---\n".join(documents)}
    if commands := list(_commands(scenario)):
        files["vllm_serve.sh"] = f"#!/bin/sh\n{comment}" + "\n".join([*commands, ""])
    files["placeholders.txt"] = "\n".join([
        *standing.lines,
        "To be replaced before these files are applied:",
        *(f"  {p}" for p in dict.fromkeys(_placeholders(scenario))),
        "",
    ])  # fmt: skip
    return files


def unwritten(scenario: Scenario) -> list[str]:
    """Return a line for each setting of an engine that is no default and for which vLLM has no option.

    >>> from nona.scenario.file import parse_scenario
    >>> text = "{cluster: {servers: [{gpu: h100, engine: {watermark: 1 %, tp: 1, sequences: 64}}]}}"
    >>> unwritten(parse_scenario(text))
    ['Left out of group-0-h100, as vLLM has no option for it: engine.watermark 0.01']
    """
    return [
        f"Left out of {group_name(number, group)}, as vLLM has no option for it: engine.{key}"
        f"{'' if isinstance(value, dict) else f' {value}'}"
        for number, group in enumerate(scenario.cluster.servers)
        if group.engine is not None
        for key, value in group.engine.model_dump(mode="json", exclude_defaults=True).items()
        if key not in _WRITTEN
    ]


def _placeholders(scenario: Scenario) -> Iterator[str]:
    yield f"{STORAGE}: the claim of the volume with the models"
    for group in scenario.cluster.servers:
        if group.engine is None:
            yield f"{IMAGE['triton']}: an image of the Triton Inference Server"
        else:
            yield f"{IMAGE['vllm']}: an image of vLLM"
            model = served(scenario, group.engine)
            yield f"{model}: the name or path of this model where you are"


def served(scenario: Scenario, engine: EngineSpec) -> str:
    """Return the language model that an engine serves."""
    return engine.model or (scenario.language[0].llm.model if scenario.language else "MODEL")


def _commands(scenario: Scenario) -> Iterator[str]:
    for number, group in enumerate(scenario.cluster.servers):
        if group.engine is not None:
            copies = group.count * group.gpus // group.engine.tp
            yield f"# {group_name(number, group)}: {copies} times"
            words = [served(scenario, group.engine), *engine_arguments(group.engine, scenario.cost.precision)]
            yield "vllm serve " + " ".join(f"'{w}'" if w.startswith("{") else w for w in words)


def _deployments(scenario: Scenario) -> Iterator[dict[str, Any]]:
    for number, group in enumerate(scenario.cluster.servers):
        name = group_name(number, group)
        notes = group_annotations(number, group)
        if group.engine is not None:
            engine = group.engine
            args = ["serve", served(scenario, engine), *engine_arguments(engine, scenario.cost.precision)]
            container: dict[str, Any] = {
                "name": "vllm",
                "image": IMAGE["vllm"],
                "command": ["vllm"],
                "args": args,
            }
            copies = group.count * group.gpus // engine.tp
            limits = {"nvidia.com/gpu": engine.tp}
            yield _deployment(f"{name}-{plain_name(engine.role)}", copies, limits, container, group, notes)
            continue
        container = {
            "name": "triton", "image": IMAGE["triton"],
            "args": ["tritonserver", "--model-repository=/models"],
            "readinessProbe": {"httpGet": {"path": "/v2/health/ready", "port": 8000}},
        }  # fmt: skip
        for resource, copies in _resources(scenario, group).items():
            own = name if not group.mig else f"{name}-{plain_name(resource.rpartition('/')[2])}"
            yield _deployment(own, copies, {resource: 1}, container, group, notes)


def _resources(scenario: Scenario, group: ServerGroupSpec) -> dict[str, int]:
    """Return the resource of a pod → how many pods there are of it."""
    shared = "" if group.mps is None else ".shared"
    device = find_device(group.gpu, user_devices(scenario.cluster.devices))
    kinds = Counter[str]()
    for layout in group.layouts:
        slices = parse_layout(layout, device.mig or "").slices if layout else ()
        kinds.update(f"mig-{s.profile.replace('+', '.')}" for s in slices)
        kinds["gpu"] += not slices
    return {
        f"nvidia.com/{kind}{shared}": group.count * n * (group.mps or 1)
        for kind, n in sorted(kinds.items())
        if n
    }


def _deployment(
    name: str,
    copies: int,
    limits: Mapping[str, int],
    container: Mapping[str, Any],
    group: ServerGroupSpec,
    notes: Mapping[str, str],
) -> dict[str, Any]:
    pod = {
        "nodeSelector": selector(group),
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [
            {
                **container,
                "resources": {"limits": dict(limits)},
                "volumeMounts": [{"name": "models", "mountPath": "/models", "readOnly": True}],
            }
        ],
        "volumes": [{"name": "models", "persistentVolumeClaim": {"claimName": STORAGE, "readOnly": True}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": name}, "annotations": dict(notes)},
        "spec": {
            "replicas": copies,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
        },
    }


def engine_arguments(engine: EngineSpec, precision: str = "auto") -> list[str]:
    """Return the options of ``vllm serve`` that give an engine its settings.

    >>> engine_arguments(EngineSpec(tp=2, sequences=64))
    ['--tensor-parallel-size=2', '--max-num-seqs=64', '--gpu-memory-utilization=0.92', \
'--enable-prefix-caching']
    """
    arguments = [f"--tensor-parallel-size={engine.tp}"]
    for option, value in (
        ("max-num-seqs", engine.sequences), ("max-num-batched-tokens", engine.budget),
        ("num-gpu-blocks-override", engine.blocks),
    ):  # fmt: skip
        if value != "auto":
            arguments.append(f"--{option}={value}")
    arguments.append(f"--gpu-memory-utilization={engine.utilization:g}")
    caching = "enable" if engine.prefix_cache == "share" else "no-enable"
    arguments.append(f"--{caching}-prefix-caching")
    if not engine.chunked:
        arguments.append("--no-enable-chunked-prefill")
    if engine.lookahead:
        arguments.append("--async-scheduling")
    if engine.graphs == "outside":
        arguments.append("--enforce-eager")
    if engine.kv == "fp8":
        arguments.append("--kv-cache-dtype=fp8")
    if precision == "fp8":
        arguments.append("--quantization=fp8")
    if engine.role in _ROLES:
        settings = {"kv_connector": "NixlConnector", "kv_role": _ROLES[engine.role]}
        arguments += ["--kv-transfer-config", json.dumps(settings)]
    return arguments
