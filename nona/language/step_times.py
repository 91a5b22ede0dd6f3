"""How long a step of an engine takes: constants that were fitted to measured tables, else a law.

T = a + b·decodes + g·Σ kv + c·prefill + q·Σ x·(past + x/2), with experts a + e·touched. The table holds for
one model, GPU and number of GPUs, in bf16; nothing is carried over from one GPU to another. Everything else
is *modelled*: weights and KV are read, products are computed, at a share of the peak, and the host adds its
time to each step. Where both are known, steps by the law take 0.8 to 1.25 times those of the table on cards
of data centres, up to 1.45 times on the RTX 4090.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nona.hardware.device import Precision, devices
from nona.hardware.executor import ExecutorClass
from nona.hardware.table_file import shipped_table
from nona.language.models import LanguageModel, language_models
from nona.language.system import StepTimes

Provenance = Literal["calibrated", "modelled", "given"]
WEIGHTS_READ, KV_READ, PRODUCTS = 0.70, 0.85, 0.70
"""Shares of the memory's bandwidth and of the dense peak that are reached."""
HOST_S = 1e-3
REDUCTION_S = 10e-6
"""Of each of the two sums over the GPUs in a layer; with this, tp 2 and 4 on an H100 are as measured."""
BESIDE_READS = 0.6
"""Share of a token's products that a decode adds to a step, as weights are read meanwhile: fitted."""
LAW_ERROR = 0.3


@dataclass(frozen=True, slots=True)
class KnownSteps:
    """Step times with their relative error and where they come from."""

    times: StepTimes
    provenance: Provenance
    error: float
    source: str


def step_times(model: LanguageModel, kind: ExecutorClass, tp: int, precision: Precision) -> KnownSteps:
    """Return the constants of a model on ``tp`` GPUs of a kind: those of the table, else by the law."""
    law = _law(model, kind, tp, precision)
    if precision == "fp16" and kind.whole and kind.device == devices().get(kind.device.name):
        for row in shipped_table("nona.language", "data/steps.csv"):
            here = (row["gpu"], int(row["tp"])) == (kind.device.name, tp)
            if here and model.alike(language_models()[row["model"]]):
                return KnownSteps(
                    StepTimes(
                        a=float(row["a_ms"]) * 1e-3,
                        b=float(row["b_us"]) * 1e-6,
                        g=float(row["g_ns"]) * 1e-9,
                        c=float(row["c_us"]) * 1e-6 if row["c_us"] else law.c,
                        q=float(row["q_ns"]) * 1e-9 if row["q_ns"] else law.q,
                        e=float(row["e_ms"]) * 1e-3 if row["e_ms"] else 0.0,
                        experts=model.experts,
                        active=model.active,
                    ),
                    "calibrated",
                    float(row["error"]),
                    f"{row['version']}; {row['source']}",
                )
    source = f"law: {WEIGHTS_READ:.0%} and {KV_READ:.0%} of the bandwidth, {PRODUCTS:.0%} of the peak"
    return KnownSteps(law, "modelled", LAW_ERROR, source)


WIDTHS: dict[Precision, int] = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "fp8": 1, "int8": 1}
"""Bytes of a weight."""


def kv_width(precision: Precision) -> int:
    """Return the bytes of a number in the KV cache: 16 bits, also beside narrower weights."""
    return max(WIDTHS[precision], 2)


def _law(model: LanguageModel, kind: ExecutorClass, tp: int, precision: Precision) -> StepTimes:
    width, compute = WIDTHS[precision], tp * kind.peak(precision) * PRODUCTS
    reads = tp * kind.bandwidth * WEIGHTS_READ
    experts = model.feed_forward_weights * width / reads
    always = model.attention_weights * width / reads + model.hidden * model.vocabulary * width / reads
    reductions = 2 * model.layers if tp > 1 else 0
    token_s = 2 * model.used_by_a_token / compute
    if tp > 1:
        link = kind.device.peer_bandwidth or kind.device.host_bandwidth or kind.bandwidth
        token_s += reductions * 2 * (tp - 1) / tp * model.hidden * kv_width(precision) / link
    return StepTimes(
        a=HOST_S + always + reductions * REDUCTION_S + (0.0 if model.experts else experts),
        b=BESIDE_READS * token_s,
        g=max(model.kv_heads, tp) / model.kv_heads * model.kv_bytes(kv_width(precision))
        / (tp * kind.bandwidth * KV_READ),
        c=token_s,
        q=4 * model.layers * model.heads * model.head_dim / compute,
        e=experts if model.experts else 0.0,
        experts=model.experts,
        active=model.active,
    )  # fmt: skip
