"""The ``cost`` part of a scenario: how operators are timed, and what stated times hold for."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from nona.scenario.values import Name, Part


class GivenSpec(Part):
    """What the times in a model's file hold for.

    ``device``: on which they hold, in place of what the file says (``any``: the same everywhere);
    ``factors``: how much longer they are on another device, slice or share, in place of the modelled ratio.
    """

    device: Name | None = None
    factors: dict[Name, Annotated[float, Field(gt=0, le=1e6)]] = Field(default_factory=dict, max_length=100)


def _given_entry(value: object) -> object:
    return {"device": value} if isinstance(value, str) else value


class CostSpec(Part):
    """How operators are timed: software stack, precision, and measured times that win.

    ``given`` (a workload row's model → device, or device and factors) says what the times in its file
    hold for.
    """

    stack: Literal["tensorrt", "cuda-graphs", "onnxruntime", "eager"] = "tensorrt"
    precision: Literal["model", "fp32", "tf32", "fp16", "fp8", "int8"] = "model"
    measured: Name | None = None
    given: dict[Name, Annotated[GivenSpec, BeforeValidator(_given_entry)]] = Field(
        default_factory=dict, max_length=500
    )
