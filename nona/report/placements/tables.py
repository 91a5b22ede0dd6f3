"""Tables of a placement: its models, executors, links, search, prediction, working, congestion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nona.report.models import provenance_text
from nona.report.placements.certificate import error_of, hits_of, mean_of
from nona.report.placements.text import LOAD, origin_words
from nona.results import placement
from nona.results.document import Estimate, ModelFacts
from nona.tables import (
    BANDWIDTH,
    COUNT,
    PRECISE,
    SHARE,
    SIZE,
    TIME,
    Column,
    Filled,
    Kind,
    Table,
)
from nona.units import format_number

_LEAST_SHARE = 1e-6
GAP = Kind(lambda gap: f"{format_number(100 * gap, 2)} %")

MODELS = Table[placement.PlacedModel](
    "model",
    (
        Column("mean JCT", lambda m: m.jct_s, TIME),
        Column("compute", lambda m: m.compute_s, TIME),
        Column("transfer", lambda m: m.transfer_s, TIME),
        Column("wait at links", lambda m: m.network_wait_s, TIME),
        Column("wait at servers", lambda m: m.server_wait_s, TIME),
    ),
)
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
        Column("parallelism", lambda m: m.parallelism, Kind("{:.3f}".format)),
        Column("most that splitting can save", lambda m: 1 - 1 / m.parallelism, SHARE),
        Column("provenance", lambda m: provenance_text(m.provenance)),
    ),
)


def _gap_of(step: placement.SearchStep) -> float | str:
    if step.gap is not None:
        return step.gap
    return "no bound with batches" if step.batches else "no bound yet"


STEPS = Table[placement.SearchStep](
    "",
    (
        Column("after", lambda s: s.elapsed_s, TIME),
        Column("best so far", origin_words),
        Column("mean JCT", lambda s: _with_error(s.objective_s, s.error_s), TIME, interval=True),
        Column("gap", _gap_of, GAP),
    ),
)


def _with_error(value_s: float | None, error_s: float | None) -> Estimate:
    ends = None if value_s is None or not error_s else (value_s - error_s, value_s + error_s)
    return Estimate(mean=value_s, ci95=ends)


class _Class(NamedTuple):
    predicted: placement.PredictedClass
    memory: placement.ClassMemory


CLASSES = Table[_Class](
    "",
    (
        Column("executor class", lambda r: r.predicted.executor_class),
        Column("executors", lambda r: r.predicted.executors, COUNT),
        Column("load", lambda r: r.predicted.utilization, SHARE, help=LOAD),
        Column("wait of a visit", lambda r: r.predicted.wait_s, TIME),
        Column("memory per executor", lambda r: r.memory.memory_bytes, SIZE),
        Column("weights held", lambda r: r.memory.resident_bytes, SIZE),
        Column("free", lambda r: r.memory.free_bytes, SIZE),
        Column("models", lambda r: ", ".join(r.memory.weights_bytes)),
    ),
)


def classes(report: placement.PlacementReport) -> Filled:
    """Each executor class: number, load, wait, memory."""
    return CLASSES.of(map(_Class, report.predicted.classes, report.memory.classes))


def class_shares(report: placement.PlacementReport) -> Filled:
    """The probability of each executor class, model by model; no rows for a single class."""

    def of(kind: str) -> Column[dict[str, float]]:
        return Column(kind, lambda shares: shares[kind] if shares[kind] > _LEAST_SHARE else None, SHARE)

    kinds = [c.executor_class for c in report.predicted.classes]
    rows = {name: dict(shares) for name, shares in report.class_shares.items()}
    return Table("model", tuple(map(of, kinds))).of(rows if len(kinds) > 1 else {})


class _Responding(NamedTuple):
    sampled: placement.ModelResponse
    formula: placement.PlacedModel


RESPONSE = Table[_Responding](
    "model",
    (
        Column("mean", lambda r: r.sampled.mean_s, TIME),
        Column("mean by formula", lambda r: r.formula.jct_s, TIME),
        Column("median", lambda r: r.sampled.p50_s, TIME),
        Column("95th percentile", lambda r: r.sampled.p95_s, TIME),
        Column("99th percentile", lambda r: r.sampled.p99_s, TIME),
        Column("SLO", lambda r: r.sampled.slo_s, TIME),
        Column("SLO missed", lambda r: r.sampled.miss, SHARE),
    ),
)


def response(sampled: placement.ResponseReport, formula: Mapping[str, placement.PlacedModel]) -> Filled:
    """The predicted completion times of each model, by sampled jobs and by formula."""
    return RESPONSE.of({name: _Responding(m, formula[name]) for name, m in sampled.models.items()})


CONGESTION = Table[placement.CongestionPoint](
    "",
    (
        Column("background", lambda p: p.background, SHARE),
        Column("nona", lambda p: p.nona_s, TIME),
        Column("local", lambda p: p.local_s, TIME),
        Column("spread", lambda p: p.spread_s, TIME),
    ),
)


def congestion(curve: placement.CongestionCurve) -> Filled:
    """The mean JCTs of the curve."""
    return CONGESTION.of(curve.points)


def _mean(report: placement.FullPlacementReport | None) -> Estimate | str:
    mean_s = None if report is None else mean_of(report)
    return "overloaded" if report is None or mean_s is None else _with_error(mean_s, error_of(report))


COMPARISON = Table[placement.FullPlacementReport | None](
    "placement",
    (
        Column("mean JCT", _mean, TIME, interval=True),
        Column("SLO hits", hits_of, SHARE),
        Column("mean JCT by formula", lambda r: r.predicted.jct_s if r else "overloaded", TIME),
        Column("wait of a message", lambda r: r.predicted.network_wait_s if r else None, TIME),
        Column("wait of a visit", lambda r: r.predicted.server_wait_s if r else None, TIME),
        Column("link busy", lambda r: r.predicted.network_utilization if r else None, SHARE),
        Column("executor load", lambda r: r.predicted.compute_utilization if r else None, SHARE, help=LOAD),
    ),
)


def comparison(data: placement.PlacementOutcome) -> Filled:
    """The solved placement against local and spread: by sampled jobs, and by formula."""
    return COMPARISON.of({"nona": data.nona, "local": data.local, "spread": data.spread})


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


def paths(configurations: Sequence[placement.WorkingConfiguration]) -> Filled:
    """The longest path of each configuration in use."""
    return PATHS.of(_Numbered(k, c) for k, c in enumerate(configurations, start=1))
