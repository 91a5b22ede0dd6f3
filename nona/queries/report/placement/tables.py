"""Tables of a placement: its models, times, executors, links, search, working."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nona.core.document import Estimate, ModelFacts
from nona.core.tables import (
    BANDWIDTH,
    COUNT,
    KEPT,
    PRECISE,
    SHARE,
    SIZE,
    TIME,
    Column,
    FilledTable,
    NumberKind,
    Table,
)
from nona.models.report import provenance_text
from nona.queries.placement import results as placement
from nona.queries.report.placement.comparison import estimate_of, hits_estimate, mean_of
from nona.queries.report.placement.text import LOAD, origin_words

_LEAST_SHARE = 1e-6

LINKS = Table[placement.PredictedLink](
    "",
    (
        Column("link", lambda r: r.name),
        Column("number", lambda r: r.links, COUNT),
        Column("capacity of each", lambda r: r.capacity, BANDWIDTH),
        Column("crossed by", lambda r: r.share, SHARE, help="Share of the messages."),
        Column("busy", lambda r: r.utilization, SHARE),
        Column("mean wait", lambda r: r.wait_s, TIME),
    ),
)
REPLICAS = Table[placement.ModelMemory](
    "model",
    (
        Column("weights", lambda m: m.weight_bytes, SIZE),
        Column("replicas", lambda m: m.replicas, COUNT),
        Column("replicas in all", lambda m: m.replicas_bytes, SIZE),
    ),
)
FACTS = Table[ModelFacts](
    "model",
    (
        Column("device", lambda m: m.device),
        Column("all operators", lambda m: m.total_compute_s, TIME, help="One after the other."),
        Column("longest chain", lambda m: m.critical_path_s, TIME),
        Column("parallelism", lambda m: m.parallelism, NumberKind("{:.3f}".format)),
        Column("most that splitting can save", lambda m: 1 - 1 / m.parallelism, SHARE),
        Column("provenance", lambda m: provenance_text(m.provenance)),
    ),
)


def _goal(step: placement.SearchStep) -> Estimate:
    return step.late or Estimate(mean=step.mean_s, ci95=step.ci95)


def steps(made: Sequence[placement.SearchStep]) -> FilledTable:
    """Return the steps of a search, with what it minimises."""
    word, kind = ("late jobs", SHARE) if any(s.late for s in made) else ("mean JCT", TIME)
    columns: tuple[Column[placement.SearchStep], ...] = (
        Column("after", lambda s: s.elapsed_s, TIME),
        Column("best so far", origin_words),
        Column(word, _goal, kind, interval=True),
        Column("candidates so far", lambda s: s.candidates, COUNT),
    )
    return Table("", columns).fill(made)


class _Class(NamedTuple):
    predicted: placement.PredictedClass
    memory: placement.ClassMemory
    without: tuple[str, ...]  # models that run there and state no weights


CLASSES = Table[_Class](
    "",
    (
        Column("executor class", lambda r: r.predicted.executor_class, decides=True),
        Column("executors", lambda r: r.predicted.executors, COUNT),
        Column("load", lambda r: r.predicted.utilization, SHARE, help=LOAD, decides=True),
        Column("wait of a visit", lambda r: r.predicted.wait_s, TIME, decides=True),
        Column("memory per executor", lambda r: r.memory.memory_bytes, SIZE),
        Column("weights held", lambda r: r.memory.resident_bytes, SIZE, decides=True),
        Column("free", lambda r: r.memory.free_bytes, SIZE),
        Column("models", lambda r: ", ".join((*r.memory.weights_bytes, *r.without)), decides=True),
    ),
)


def classes(report: placement.PlacementReport) -> FilledTable:
    """Each executor class: number, load, wait, memory."""
    light = [name for name, model in report.memory.models.items() if not model.weight_bytes]
    return CLASSES.fill(
        _Class(predicted, memory, _without_weights(report, memory.executor_class, light))
        for predicted, memory in zip(report.predicted.classes, report.memory.classes, strict=True)
    )


def _without_weights(report: placement.PlacementReport, kind: str, light: Sequence[str]) -> tuple[str, ...]:
    """Of the models without weights those whose queries are drawn to a class of executors."""
    drawn = [name for name, shares in report.class_shares.items() if shares[kind] > _LEAST_SHARE]
    return tuple(f"{name} (no weights)" for name in light if not set(name.split(" + ")).isdisjoint(drawn))


def class_shares(report: placement.PlacementReport) -> FilledTable:
    """Return the probability of each executor class, model by model; no rows for a single class."""

    def column_of(kind: str) -> Column[dict[str, float]]:
        return Column(kind, lambda shares: shares[kind] if shares[kind] > _LEAST_SHARE else None, SHARE)

    kinds = [c.executor_class for c in report.predicted.classes]
    rows = {name: dict(shares) for name, shares in report.class_shares.items()}
    return Table("model", tuple(map(column_of, kinds))).fill(rows if len(kinds) > 1 else {})


class _Timed(NamedTuple):
    simulated: placement.SimulatedModel
    formula: placement.PlacedModel


TIMES = Table[_Timed](
    "model",
    (
        Column(
            "mean",
            lambda r: Estimate(mean=r.simulated.mean, ci95=r.simulated.ci95),
            TIME,
            interval=True,
            decides=True,
        ),
        Column("mean by formula", lambda r: r.formula.jct_s, TIME),
        Column("median", lambda r: r.simulated.p50, TIME),
        Column("p95", lambda r: r.simulated.p95, TIME, decides=True),
        Column("p99", lambda r: r.simulated.p99, TIME),
        Column("SLO", lambda r: r.simulated.slo_s, TIME),
        Column(
            "late",
            lambda r: r.simulated.misses,
            SHARE,
            "SLO missed",
            decides=True,
            help="Share of the jobs beyond their SLO.",
        ),
    ),
)


def times(report: placement.PlacementReport) -> FilledTable:
    """Return the simulated completion times of each model, and the mean by formula."""
    pairs = zip(report.simulated.models.items(), report.models.values(), strict=True)
    return TIMES.fill({name: _Timed(own, formula) for (name, own), formula in pairs})


def _mean(report: placement.PlacementReport | None) -> Estimate | str:
    return "overloaded" if report is None or mean_of(report) is None else estimate_of(report)


COMPARISON = Table[placement.PlacementReport | None](
    "placement",
    (
        Column("mean JCT", _mean, TIME, interval=True, decides=True),
        Column("SLO hits", hits_estimate, KEPT, interval=True, decides=True),
        Column("mean JCT by formula", lambda r: r.predicted.jct_s if r else "overloaded", TIME, decides=True),
        Column("wait of a message", lambda r: r.predicted.network_wait_s if r else None, TIME),
        Column("wait of a visit", lambda r: r.predicted.server_wait_s if r else None, TIME),
        Column("link busy", lambda r: r.predicted.network_utilization if r else None, SHARE),
        Column("executor load", lambda r: r.predicted.compute_utilization if r else None, SHARE, help=LOAD),
    ),
)


def comparison(data: placement.PlacementOutcome) -> FilledTable:
    """Return the solved placement against local and spread: simulated, and by formula."""
    return COMPARISON.fill({"nona": data.nona, "local": data.local, "spread": data.spread})


class _Numbered(NamedTuple):
    number: int
    row: placement.WorkingConfiguration


PATHS = Table[_Numbered](
    "",
    (
        Column("configuration", lambda r: f"{r.number}{' (local)' if r.row.local else ''}"),
        Column("x", lambda r: r.row.probability, SHARE),
        Column("compute", lambda r: r.row.compute_s, PRECISE),
        Column("transfers", lambda r: r.row.transfer_s, PRECISE),
        Column("n: waits at the link", lambda r: r.row.link_waits),
        Column("v: waits at a server", lambda r: r.row.visits),
        Column("g", lambda r: r.row.span_s, PRECISE),
    ),
)


def paths(configurations: Sequence[placement.WorkingConfiguration]) -> FilledTable:
    """Return the longest path of each configuration in use."""
    return PATHS.fill(_Numbered(k, c) for k, c in enumerate(configurations, start=1))
