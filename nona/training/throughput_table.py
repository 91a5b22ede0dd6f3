"""Tables of throughputs: Gavel's, a user's own, and step times by the cost layer.

One step is one batch on every one of k GPUs (data parallel), and counts as k steps, as in Gavel's table:
rate = k / (F + β·F + U + A). F is the forward pass, operator by operator, by a framework that does not fuse
(stack ``eager``); β·F the backward pass; U = passes · W / (e_m · B) the optimiser over weights of W bytes;
A = 2(k−1)/k · W / b + 2(k−1) · l a ring all-reduce over links of bandwidth b and latency l, without overlap.
β, the passes and the optimiser's states are in ``data/training_costs.csv``; they are not calibrated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from nona.cluster.hardware.device import Device
from nona.cluster.hardware.executor import make_executor_class
from nona.cluster.hardware.table_file import shipped_table
from nona.core.errors import ScenarioError
from nona.core.rows import TableRow, TextTable
from nona.models.cost.costing import cost_graph
from nona.models.cost.options import CostOptions, calibration, resident_bytes
from nona.models.graph.model import ModelGraph
from nona.scenario.training import with_batch
from nona.training.system import AloneKey, PairKey, Provenance, Throughputs

"""Names of tables that need no file."""

SOURCE = "Gavel (Narayanan et al., OSDI 2020), stanford-futuredata/gavel c4fa400; MIT"
MOST_ROWS = 200_000
MOST_WORKERS = 1024
MOST_RATE = 1e12
SIMPLE = ("gpu", "model", "workers", "steps_per_s")
_PARTNER = ("partner_model", "partner_batch_size", "partner_scale_factor", "partner_steps_per_s")
_WIDE = ("worker_type", "placement", "model", "batch_size", "scale_factor", "steps_per_s")
PLACEMENTS = ("consolidated", "unconsolidated")


@cache
def shipped_throughputs() -> Throughputs:
    """Gavel's table: 26 models on K80, P100 and V100, alone and in pairs, measured.

    >>> round(shipped_throughputs().rate("v100", "ResNet-50 (batch size 64)", 1), 3)
    4.395
    """
    data = files("nona.training").joinpath("data/throughputs.csv").read_bytes()
    return read_throughputs(data, "throughputs.csv", "measured", SOURCE)


def read_throughputs(
    data: bytes, filename: str, provenance: Provenance = "given", source: str = ""
) -> Throughputs:
    r"""Return a table in CSV.

    Either Gavel's columns (``worker_type, placement, model, batch_size, scale_factor, partner_model,
    partner_batch_size, partner_scale_factor, steps_per_s, partner_steps_per_s``; those of partners may be
    left out) or the simple form ``gpu, model, workers, steps_per_s``. Rates of 0 stand for what cannot run.

    >>> table = read_throughputs(b"gpu,model,workers,steps_per_s\na100,mine,2,7.5\n", "t.csv")
    >>> table.rate("a100", "mine", 2), table.provenance
    (7.5, {'a100': 'given'})
    """
    what = f"Table of throughputs {filename!r}"
    table, rates = TextTable(data, what, MOST_ROWS), _RateRows()
    if not table.header:
        raise ScenarioError([f"{what}: it is empty; give the header {','.join(SIMPLE)} and rows."])
    nothing = "no job can run by it; give at least one row with steps_per_s above 0."
    if "gpu" in table.header:
        table.read(SIMPLE, (), rates.enter_simple, nothing)
    else:
        table.read(_WIDE, _PARTNER, rates.enter_wide, nothing)
    gpus = dict.fromkeys(key.gpu for key in rates.alone)
    return Throughputs(
        rates.alone, rates.pairs, rates.spread, dict.fromkeys(gpus, provenance), source or filename
    )


@dataclass(slots=True)
class _RateRows:
    """Rates from the rows of a table; entering one answers whether a job can run by itself at its rate."""

    alone: dict[AloneKey, float] = field(default_factory=dict)
    spread: dict[AloneKey, float] = field(default_factory=dict)
    pairs: dict[PairKey, tuple[float, float]] = field(default_factory=dict)

    def enter_simple(self, line: TableRow) -> bool | None:
        key = AloneKey(line.name("gpu"), line.name("model"), line.whole("workers", MOST_WORKERS))
        rate = line.value("steps_per_s", MOST_RATE)
        if not line.is_first(*map(str, key)) or rate <= 0:
            return None
        self.alone[key] = rate
        return True

    def enter_wide(self, line: TableRow) -> bool | None:
        gpu, placement = line.name("worker_type"), line.cell("placement")
        if placement not in PLACEMENTS:
            line.add(f"placement={placement[:40]!r} must be {' or '.join(PLACEMENTS)}; correct it.")
        model = with_batch(line.cell("model"), line.cell("batch_size"))
        model = line.problems.name(line.number, "model", model)
        workers = line.whole("scale_factor", MOST_WORKERS)
        rate = line.value("steps_per_s", MOST_RATE)
        together = placement == PLACEMENTS[0]
        if not line.cell("partner_model"):
            if line.is_first(gpu, placement, model, str(workers)) and rate > 0:
                (self.alone if together else self.spread)[AloneKey(gpu, model, workers)] = rate
                return together or None
            return None
        partner = with_batch(line.cell("partner_model"), line.cell("partner_batch_size"))
        if (theirs := line.cell("partner_scale_factor")) and theirs != line.cell("scale_factor"):
            line.add(f"partner_scale_factor={theirs[:40]!r} must equal scale_factor; only equal ones share.")
        other = line.value("partner_steps_per_s", MOST_RATE)
        first = line.is_first(gpu, placement, model, partner, str(workers))
        if first and together and rate > 0 and other > 0:
            self.pairs[PairKey(gpu, model, partner, workers)] = (rate, other)
        return None


STACK = "eager"


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """A step on one GPU: seconds of passes and update, bytes of gradients, bytes of memory that it needs."""

    passes_s: float
    update_s: float
    gradient_bytes: float
    memory_bytes: float

    def steps_per_s(self, workers: int, bandwidth: float, latency_s: float) -> float:
        """K / (F + β·F + U + A), steps per second of ``workers`` GPUs together.

        >>> round(TrainingStep(0.09, 0.01, 1e8, 1e9).steps_per_s(2, 1e9, 0.0), 3)
        10.0
        """
        reduce_s = all_reduce_s(self.gradient_bytes, workers, bandwidth, latency_s)
        return workers / (self.passes_s + self.update_s + reduce_s)


def all_reduce_s(size_bytes: float, workers: int, bandwidth: float, latency_s: float) -> float:
    """2(k−1)/k · bytes / b + 2(k−1) · l: a ring, in which every GPU sends 2(k−1) parts of bytes/k.

    >>> all_reduce_s(8e9, 4, 6e9, 0.0), all_reduce_s(8e9, 1, 6e9, 1.0)
    (2.0, 0.0)
    """
    hops = 2 * (workers - 1)
    return hops * (size_bytes / workers / bandwidth + latency_s)


def training_step(graph: ModelGraph, device: Device, options: CostOptions) -> TrainingStep:
    """Return a step of ``options.batch`` examples on one GPU.

    Memory is weights, gradients, states, activations.

    >>> from nona.models.graph.model import Operator, StatedWork
    >>> from nona.cluster.hardware.device import find_device
    >>> graph = ModelGraph("g", (Operator("a", work=StatedWork(flops=1e12, macs=5e11)),), ())
    >>> step = training_step(graph, find_device("v100"), CostOptions("eager"))
    >>> round(step.passes_s, 2), step.update_s
    (0.34, 0.0)
    """
    costed = cost_graph(graph, make_executor_class(device), options)
    weights = resident_bytes(graph, options)
    moved = _constant("optimiser_passes") * weights
    kept = sum(cost.write_bytes for cost in costed.costs)
    return TrainingStep(
        passes_s=(1 + _constant("backward")) * costed.total_compute_s,
        update_s=moved / (calibration(device, options.stack).memory_efficiency * device.bandwidth),
        gradient_bytes=weights,
        memory_bytes=_constant("reserved") + (2 + _constant("optimiser_states")) * weights + kept,
    )


@cache
def _constant(name: str) -> float:
    rows = shipped_table("nona.training", "data/training_costs.csv")
    return float(next(row["value"] for row in rows if row["constant"] == name))
