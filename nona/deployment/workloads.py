"""Deployments of Kubernetes: the servers and engines that their pods take."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nona.deployment.facts import Ledger
from nona.deployment.files import GivenFile
from nona.deployment.found import Found, FoundEngine, FoundServers
from nona.deployment.located import Tree
from nona.deployment.products import device_named
from nona.deployment.vllm import engine_of, options
from nona.deployment.writing import ANNOTATION

_MIG = re.compile(r"nvidia\.com/mig-([\w.]+?)(?:\.shared)?$")
VCPUS = 16


@dataclass(frozen=True, slots=True)
class _Deployment:
    tree: Tree
    path: tuple[str | int, ...]

    def note(self, key: str) -> str:
        """Return an annotation of a file that this program wrote."""
        return self.tree.text(*self.path, "metadata", "annotations", f"{ANNOTATION}{key}")

    def count(self, key: str, usual: int) -> int:
        place = (*self.path, "metadata", "annotations", f"{ANNOTATION}{key}")
        found = self.tree.whole(*place, least=1, most=100_000)
        return usual if found is None else found

    @property
    def pod(self) -> tuple[str | int, ...]:
        if self.tree.text(*self.path, "kind") == "Pod":
            return (*self.path, "spec")
        return (*self.path, "spec", "template", "spec")


def workloads(
    trees: Sequence[Tree], models: Sequence[GivenFile], ledger: Ledger
) -> tuple[Found, dict[str, bytes]]:
    """Return the servers and engines of Deployments; other objects are named as not used."""
    found, files, seen = Found(), dict[str, bytes](), set[str]()
    for tree in trees:
        entries = len(tree.entries("items"))
        for path in [("items", i) for i in range(entries)] if entries else [()]:
            one = _Deployment(tree, path)
            name = tree.text(*path, "metadata", "name") or "object"
            if tree.text(*path, "kind") not in ("Deployment", "StatefulSet", "Pod"):
                ledger.not_used(f"{name}: kind", tree.text(*path, "kind"), tree.place_of(*path))
                continue
            more, own = _deployment(one, name, models, seen, ledger)
            found, files = found + more, files | own
    return found, files


def _deployment(
    one: _Deployment, name: str, models: Sequence[GivenFile], seen: set[str], ledger: Ledger
) -> tuple[Found, dict[str, bytes]]:
    tree, place = one.tree, one.tree.place_of(*one.path)
    replicas = tree.whole(*one.path, "spec", "replicas", most=100_000)
    replicas = 1 if replicas is None else replicas
    found, files = Found(), dict[str, bytes]()
    group = one.note("group")
    for i in range(len(tree.entries(*one.pod, "containers"))):
        container = (*one.pod, "containers", i)
        place_of = (*container, "resources", "limits")
        named = [str(key) for key in tree.mapping(*place_of) if "nvidia.com/" in str(key)]
        limits = {key: tree.whole(*place_of, key, most=64) or 0 for key in named}
        if not limits:
            continue
        text = ", ".join(f"{n} × {key.removeprefix('nvidia.com/')}" for key, n in limits.items())
        ledger.read(f"{name}: replicas", f"{replicas}, each {text}", place)
        words = [str(w) for key in ("command", "args") for w in tree.entries(*container, key)]
        serves = any("vllm" in w for w in words) or "vllm" in tree.text(*container, "image")
        if group and group in seen and not serves:
            continue
        seen.add(group)
        servers = _servers(one, name, limits, replicas, ledger)
        if not serves:
            found += Found(servers=(servers,))
            continue
        start = next((n + 1 for n, w in enumerate(words) if w == "serve"), 0)
        engine, file = engine_of(options(words[start:], tree.place_of(*container)), models, ledger)
        if file is not None:
            files[file.base] = file.data
        found += Found(engines=(FoundEngine(engine.model, engine.settings, place, servers=servers,
                                            precision=engine.precision),))  # fmt: skip
    return found, files


def _servers(
    one: _Deployment, name: str, limits: Mapping[str, int], replicas: int, ledger: Ledger
) -> FoundServers:
    """Return the servers of a Deployment: as it was written, else one for each pod."""
    tree, place = one.tree, one.tree.place_of(*one.path)
    product = tree.text(*one.pod, "nodeSelector", "nvidia.com/gpu.product")
    gpu = one.note("gpu") or device_named(product)
    if not gpu:
        gpu = ledger.device(f"{name}.gpu", f"device of the GPUs of {name}", place)
    if one.note("servers"):
        mps = one.count("mps", 1)
        mig = one.note("mig")
        count, gpus = one.count("servers", 1), one.count("gpus", 1)
        return FoundServers(
            count,
            gpu,
            gpus,
            one.count("vcpus", VCPUS),
            place,
            mig=mig,
            mps=mps if mps > 1 else 0,
            shared=one.count("instances", 1),
        )
    mig = ", ".join(m[1] for key, n in limits.items() if (m := _MIG.match(key)) for _ in range(n))
    gpus = 1 if mig else max(1, sum(limits.values()))
    ledger.assume(f"{name}: servers", f"one of {gpus} GPUs for each of its {replicas} pods", place)
    return FoundServers(max(1, replicas), gpu, gpus, VCPUS, place, mig=mig)
