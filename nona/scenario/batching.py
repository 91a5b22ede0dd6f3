"""Batches of queries in a scenario: their sizes, when they start, and how their times grow."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field
from pydantic import model_validator as _model_validator
from pydantic_core import PydanticCustomError

from nona.cost.options import PER_QUERY
from nona.scenario.values import Part, Seconds, Share, field

BatchRule = Literal["greedy", "delay", "triton", "static"]
BatchSize = Annotated[int, Field(ge=1, le=1024)]
BatchSizes = Annotated[tuple[BatchSize, ...], Field(max_length=64)]


class BatchingSpec(Part):
    """How an executor takes several queries of a row together, in one step."""

    max_batch: BatchSize = field(
        8, "Largest batch", "Queries whose equal tasks an executor runs as one, at most. 1: no batching."
    )
    rule: BatchRule | None = field(
        None,
        "Rule",
        "When an idle executor starts a batch: with what waits (greedy), full or once its oldest member "
        "has waited for the delay, also at preferred sizes (as Triton), or full only.",
        choices={
            None: "automatic",
            "greedy": "greedy",
            "delay": "full or delayed",
            "triton": "full, delayed or preferred",
            "static": "full",
        },
        none="delay where one is given, else greedy",
    )
    delay: Seconds = field(
        0.0,
        "Longest delay",
        "How long the first query of a batch waits for others at most, e.g. 2 ms; longer: larger batches.",
    )
    preferred: BatchSizes = field(
        (),
        "Preferred sizes",
        "Batches of these sizes start at once.",
        none="full batches",
        when=("rule", ["triton"]),
    )
    form_ahead: int = field(
        0,
        "Formed ahead",
        "Batches that may be formed while the executor is busy; Triton forms up to 2.",
        when=("rule", ["triton"]),
        ge=0,
        le=2,
    )
    allowed: BatchSizes = field(
        (),
        "Allowed sizes",
        "A batch is filled up to the next of these, and takes its time.",
        none="all sizes",
    )
    per_query: Annotated[Share, Field(ge=0, le=1)] = field(
        PER_QUERY,
        "Share that each query adds",
        "Of the time of one query, where a file gives nothing but that: a batch of b takes 1 − p + p·b times "
        "as long. The default is that of serverless functions.",
    )

    @property
    def starts(self) -> BatchRule:
        """The rule that holds."""
        return self.rule or ("delay" if self.delay > 0 else "greedy")

    @property
    def largest(self) -> int:
        """The most queries for which there must be a time: the largest batch, filled up."""
        return min((size for size in self.allowed if size >= self.max_batch), default=self.max_batch)

    @property
    def without_effect(self) -> list[str]:
        """A line for each key that is given and does not count."""
        if self.rule == "triton":
            return []
        given = [name for name in ("preferred", "form_ahead") if getattr(self, name)]
        lines = [f"{name} counts under the rule triton, not {self.starts}; leave it out" for name in given]
        if self.delay > 0 and self.rule in ("greedy", "static"):
            lines.append(f"a delay does not count under the rule {self.rule}; leave one of them out")
        return lines

    @_model_validator(mode="after")
    def _consistent(self) -> Self:
        most, allowed = self.max_batch, self.allowed
        if max(self.preferred, default=0) > most:
            raise PydanticCustomError(
                "batching",
                "preferred {sizes} has sizes above max_batch {most}, which no batch has; leave them out, or "
                "raise max_batch to {top}",
                {"sizes": list(self.preferred), "most": most, "top": max(self.preferred)},
            )
        if allowed and 1 not in allowed:
            raise PydanticCustomError(
                "batching", "allowed {sizes} must have 1, for a query alone; add it", {"sizes": list(allowed)}
            )
        if allowed and max(allowed) < most:
            raise PydanticCustomError(
                "batching",
                "allowed {sizes} must reach max_batch {most}, or larger batches have no time; add {most}, or "
                "lower max_batch to {top}",
                {"sizes": list(allowed), "most": most, "top": max(allowed)},
            )
        return self


def _batching(value: object) -> object:
    """A row's batching, which a file may turn off by ``off`` (in YAML 1.1 ``false``)."""
    return {"max_batch": 1} if value is False or value == "off" else value


Batches = Annotated[BatchingSpec, BeforeValidator(_batching)]
