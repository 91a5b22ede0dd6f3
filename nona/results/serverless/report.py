"""The report on a serverless simulation, and reports on several side by side."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import SerializerFunctionWrapHandler, field_serializer, field_validator

from nona.options import Options
from nona.results.document import Document, Figure
from nona.results.serverless.outcome import PolicyOutcome, SchedulerOutcome

NOT_COMPUTED: Mapping[str, str | None] = {"cost_per_call_usd": None, "how": "not computed"}


class Oracle(Document):
    """The least that calls can cost, in US dollars, under any policy.

    ``cost_per_call_usd`` with every SLO kept that can be; ``most_hits`` is that share; ``curve`` (share of
    SLOs kept, US dollars a call) from none to that share; ``how`` says what was relaxed.
    """

    cost_per_call_usd: Figure
    cost_per_hit_usd: Figure
    most_hits: float
    curve: tuple[tuple[float, float], ...]
    how: str


class Setting(Document):
    """What was run. ``warmup``: calls before the measured ones; ``options``: those of each policy."""

    name: str
    calls: int
    warmup: int
    replications: int
    seed: int
    sharing: str
    nodes: int
    configurations: int
    options: Mapping[str, Options]
    notes: tuple[str, ...]


class ServerlessReport(Document):
    """All policies of one simulation. ``seconds`` is what it took; intervals are at 95 %.

    ``checks`` says of each self-check whether it held in every run of every policy; ``failed_checks`` are
    those that did not, in words. ``oracle`` is ``None`` where it was not asked for.
    """

    policies: Mapping[str, PolicyOutcome]
    oracle: Oracle | None
    checks: Mapping[str, bool]
    failed_checks: tuple[str, ...]
    seconds: float
    setting: Setting

    @field_validator("oracle", mode="before")
    @classmethod
    def _read_oracle(cls, value: object) -> object:
        return None if value == NOT_COMPUTED else value

    @field_serializer("oracle", mode="wrap")
    def _write_oracle(self, value: Oracle | None, write: SerializerFunctionWrapHandler) -> object:
        return dict(NOT_COMPUTED) if value is None else write(value)


class SharingReport(Document):
    """The same workload under several ways of sharing GPUs: name of the way → report."""

    sharing: Mapping[str, ServerlessReport]


class WaysReport(Document):
    """One policy under every way of sharing GPUs: name of the way → report."""

    policy: str
    reports: Mapping[str, ServerlessReport]


class SchedulersReport(Document):
    """DAG schedulers on the same workflows, by name."""

    schedulers: Mapping[str, SchedulerOutcome]
