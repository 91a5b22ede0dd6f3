"""Options that a cost depends on besides graph and device: software stack, precision, batch.

All constants live in ``data/*.csv`` with their sources; this module reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Literal, get_args

from nona.cluster.hardware.device import Device, Precision
from nona.cluster.hardware.table_file import shipped_table
from nona.core.errors import CostError
from nona.models.graph.model import Edge, ModelGraph, Tensor

KernelKind = Literal["product", "convolution", "grouped", "attention", "other"]
"""What a kernel computes: a product of matrices, a convolution, one in groups, attention, or less."""
Kernels = Literal["engine", "library"]
"""Whose kernels a stack runs: chosen by an engine for this network, or a library's general ones."""


@dataclass(frozen=True, slots=True)
class Stack:
    """A software stack: whose kernels it runs, and whether it fuses.

    ``host_s``: what the host needs to start a kernel while the one before it runs.
    ``tf32``: the products of single-precision tensors that it computes in TF32 on GPUs that have it.
    """

    name: str
    label: str
    kernels: Kernels
    host_s: float
    fuses: bool
    tf32: Literal["all", "convolutions"]
    tf32_source: str
    source: str
    checked: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """Constants of the cost formula for one device under one stack.

    ``launch_s``, ``host_s``: what any kernel takes on the device, and the host needs to start it.
    ``kernels``, ``scale``: whose kernels they are; a factor on their part of the peak, where the device's
        owner has measured that of products.
    ``memory_efficiency``: part of the bandwidth.
    """

    launch_s: float
    host_s: float
    kernels: Kernels
    scale: float
    memory_efficiency: float

    def efficiency(self, kind: KernelKind, precision: Precision) -> float:
        """e_c: the part of the peak at ``precision`` that large kernels of a kind reach."""
        name: str = "single" if precision in ("fp32", "fp64") and kind != "grouped" else kind
        if name == "convolution" and precision == "fp16":
            name = "half_convolution"
        elif name == "other":
            name = "product"
        return min(self.scale * kernel_constant(self.kernels, name), 1.0)


@cache
def stacks() -> Mapping[str, Stack]:
    """All software stacks by name.

    >>> stacks()["eager"].kernels, stacks()["eager"].fuses
    ('library', False)
    """
    return MappingProxyType(
        {
            row["stack"]: Stack(
                name=row["stack"],
                label=row["label"],
                kernels="engine" if row["kernels"] == "engine" else "library",
                host_s=float(row["host_us"]) / 1e6,
                fuses=row["fuses"] == "yes",
                tf32="all" if row["tf32"] == "all" else "convolutions",
                tf32_source=row["tf32_source"],
                source=row["source"],
                checked=row["checked"],
            )
            for row in shipped_table("nona.models.cost", "data/stacks.csv")
        }
    )


def calibration(device: Device, stack: str) -> Calibration:
    """Return the constants for ``device`` under ``stack``; a user's own efficiencies come first.

    >>> from nona.cluster.hardware.device import devices
    >>> calibration(devices()["h100"], "tensorrt").kernels
    'engine'
    """
    kernels = stacks()[stack].kernels
    product = kernel_constant(kernels, "product")
    return Calibration(
        kernel_constant(kernels, "launch_cycles") / device.clock,
        stacks()[stack].host_s,
        kernels,
        (device.compute_efficiency or product) / product,
        device.memory_efficiency or kernel_constant(kernels, "memory"),
    )


@cache
def kernel_constant(kernels: Kernels | Literal["any"], name: str) -> float:
    """Return a constant of ``data/efficiencies.csv``; ``any`` holds for all stacks.

    >>> kernel_constant("any", "tile_outputs")
    8192.0
    """
    rows = shipped_table("nona.models.cost", "data/efficiencies.csv")
    return float(next(r["value"] for r in rows if r["kernels"] in (kernels, "any") and r["constant"] == name))


@cache
def slice_constant(name: str) -> float:
    """Return a constant of ``data/slices.csv``.

    >>> slice_constant("speed_exponent")
    0.95
    """
    rows = shipped_table("nona.models.cost", "data/slices.csv")
    return float(next(row["value"] for row in rows if row["constant"] == name))


CostPrecision = Literal["auto", "model", "fp32", "tf32", "fp16", "fp8", "int8", "int4"]
AS_IN_FILE = ("auto", "model")
MOST_QUERIES = 4096
PER_QUERY = 0.45  # VGG networks as measured; of eleven fits 0.25 to 0.83 (evidence/notebook/serverless.md)

_WIDTH_BYTES: Mapping[str, float] = {"fp32": 4, "tf32": 4, "fp16": 2, "fp8": 1, "int8": 1}
_FLOAT_BYTES: Mapping[str, float] = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8}
_PEAK_OF_DTYPE: Mapping[str, Precision] = {
    "float64": "fp64",
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "fp16",
    **dict.fromkeys(("int8", "uint8", "int4", "uint4", "int2", "uint2"), "int8"),
    "float4e2m1": "fp8",
}


@dataclass(frozen=True, slots=True)
class CostOptions:
    """The conditions under which a model runs.

    ``stack``: ``tensorrt``, ``cuda-graphs``, ``onnxruntime`` or ``eager``: overhead and fusion.
    ``precision``: ``auto``: as the stack runs the file, single precision in TF32 where it and the GPU do that
        by default. ``model``: as in the file, single precision in full. Else all floating-point tensors take
        that width, and products that device's peak. ``fp32`` is IEEE single precision on the CUDA cores;
        ``tf32`` has its width, and the tensor cores' TensorFloat-32 peak.
    ``batch``: inputs of a query: activations, FLOPs and given times scale with it, weights do not.
    ``members``: queries that run as one: as ``batch``, but times given for one query grow by a law.
    ``per_query``: p of that law: ``members`` = b take 1 − p + p·b times as long as one.

    Raises ``CostError`` for an unknown stack or precision, or a batch outside 1…4096.
    """

    stack: str = "tensorrt"
    precision: CostPrecision = "auto"
    batch: int = 1
    members: int = 1
    per_query: float = PER_QUERY

    def __post_init__(self) -> None:
        if self.stack not in stacks():
            raise CostError(f"Stack {self.stack!r}: it is unknown; use {', '.join(stacks())}.")
        known = get_args(CostPrecision)[:-1]
        if self.precision not in known:
            why = "holds for language models only" if self.precision == "int4" else "is unknown"
            raise CostError(f"Precision {self.precision!r}: it {why}; use {', '.join(known)}.")
        whole = isinstance(self.batch, int) and not isinstance(self.batch, bool)
        if not whole or not 1 <= self.batch <= MOST_QUERIES:
            raise CostError(f"Batch {self.batch!r}: it must be a whole number from 1 to {MOST_QUERIES}.")

    @property
    def inputs(self) -> int:
        """Inputs that run as one."""
        return self.batch * self.members

    def growth(self, inputs: int) -> float:
        """Time of so many inputs over that of one query, where nothing but the latter is given.

        >>> CostOptions(batch=2, per_query=0.5).growth(8)
        2.5
        """
        return 1.0 + self.per_query * (inputs / self.batch - 1)

    def width_scale(self, tensor: Tensor) -> float:
        """Factor on a tensor's bytes under ``precision``.

        Only floating-point tensors of known shape change: where a file gives plain bytes, nothing
        is known of what they hold.

        >>> CostOptions(precision="fp16").width_scale(Tensor("t", 400.0, (100,), "float32"))
        0.5
        """
        width = _FLOAT_BYTES.get(tensor.dtype)
        if self.precision in AS_IN_FILE or width is None or tensor.shape is None:
            return 1.0
        return _WIDTH_BYTES[self.precision] / width

    def peak_for(self, dtype: str | None, kind: str = "", device: Device | None = None) -> Precision:
        """Return the peak for products of tensors of type ``dtype`` by an operator of ``kind``."""
        if self.precision == "auto" and dtype == "float32" and device is not None and "tf32" in device.peaks:
            by_stack = stacks()[self.stack].tf32 == "all" or "conv" in kind.lower()
            return "tf32" if by_stack else "fp32"
        if self.precision != "auto" and self.precision != "model" and self.precision != "int4":
            return self.precision  # four bits were refused
        if dtype is not None and dtype.startswith("float8"):
            return "fp8"
        if dtype == "bfloat16" and device is not None and not has_bfloat16(device):
            return "fp32"
        return _PEAK_OF_DTYPE.get(dtype or "", "fp32")


def has_bfloat16(device: Device) -> bool:
    """Return whether a device computes in bfloat16: GPUs with TF32 or 8-bit floats do, older ones do not."""
    return "tf32" in device.peaks or "fp8" in device.peaks


DEFAULT_OPTIONS = CostOptions()


def tensor_scale(graph: ModelGraph, options: CostOptions) -> dict[str, float]:
    """Factor on the bytes of every tensor of ``graph``: its width, and the batch if it is no weight.

    >>> from nona.models.graph.model import Operator
    >>> g = ModelGraph("g", (Operator("a"),), (), {"t": Tensor("t", 8.0, (2,))})
    >>> tensor_scale(g, CostOptions(precision="int8", batch=3))
    {'t': 0.75}
    """
    fixed = graph.parameters | graph.static
    return {
        name: options.width_scale(tensor) * (1 if name in fixed else options.inputs)
        for name, tensor in graph.tensors.items()
    }


def resident_bytes(graph: ModelGraph, options: CostOptions) -> float:
    """Bytes of weights that an executor holds to run any operator: each parameter once.

    A task's own ``weight_bytes`` are those that it reads: of an embedding the rows that it looks up,
    and a parameter that two operators read counts twice there.
    """
    named = (graph.tensors[name] for name in graph.parameters)
    own = sum(o.work.weight_bytes for o in graph.operators if o.work)
    return sum(t.size_bytes * options.width_scale(t) for t in named) + own


def scaled_edges(graph: ModelGraph, options: CostOptions) -> tuple[Edge, ...]:
    """Return the edges of ``graph`` with their bytes under precision and batch."""
    scale = tensor_scale(graph, options)
    return tuple(
        replace(e, size_bytes=e.size_bytes * scale.get(e.tensor, options.inputs)) for e in graph.edges
    )
