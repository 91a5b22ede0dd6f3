"""This machine as a device: its processor's name, and its peaks as ONNX Runtime reaches them."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from nona.cost.measuring.fill import random_inputs, save_model
from nona.cost.measuring.profile import profile

_SIDE = 1024
"""Side of the square product; the sum is over 16 times its elements, more than a cache holds."""


def device_name(threads: int) -> str:
    """A name for this machine's CPU with so many threads, such as ``cpu-amd-epyc-1t``."""
    slug = re.sub(r"[^a-z0-9]+", "-", processor().lower()).strip("-")[:40]
    return f"cpu-{slug}-{threads}t"


def gauge(folder: Path, threads: int) -> tuple[float, float]:
    """FLOP/s of a large product and bytes/s of a large sum: the machine's peaks as seen from here."""
    from onnx import TensorProto, helper

    def run(kind: str, shape: tuple[int, ...]) -> float:
        values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in "abc"]
        graph = helper.make_graph(
            [helper.make_node(kind, ["a", "b"], ["c"], name=kind)], kind, values[:2], values[2:]
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        path = folder / f"{kind}.onnx"
        save_model(model, path)
        return min(profile(path, random_inputs(model, {}), folder, threads, 6)[kind])

    side, long = (_SIDE, _SIDE), (64, _SIDE, _SIDE // 4)
    return 2 * _SIDE**3 / run("MatMul", side), 3 * 4 * 16 * _SIDE**2 / run("Add", long)


def device_definition(peak: float, bandwidth: float) -> dict[str, object]:
    """What a scenario's ``cluster.devices`` needs to know of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 8e9
    return {
        "fp32": f"{peak / 1e9:.4g} GFLOP/s",
        "memory": f"{memory / 1e9:.4g} GB",
        "bandwidth": f"{bandwidth / 1e9:.4g} GB/s",
        "compute_efficiency": 1.0,
        "memory_efficiency": 1.0,
    }


def processor() -> str:
    """The processor's name."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        match = re.search(r"^model name\s*:\s*(.+)$", info.read_text("utf-8", "replace"), re.MULTILINE)
        if match:
            return match.group(1).strip()
    return platform.processor() or platform.machine() or "unknown"
