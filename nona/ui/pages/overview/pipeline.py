"""The pipeline of the present scenario in six statements: what each step holds now."""

from __future__ import annotations

from dataclasses import dataclass

from nona.report.placements.certificate_text import gap_text, mean_of
from nona.report.placements.compared import hits_text, is_slo
from nona.report.simulations.simulated import SimulatedRun
from nona.report.text import time_text
from nona.report.training.elastic.finding import by_mean
from nona.report.training.words import by_mean_jct
from nona.results.placement.outcome import SolvedPlacement
from nona.results.training.elastic_history import ElasticHistory
from nona.results.training.outcome import TrainingOutcome
from nona.ui.session.state import AppState
from nona.ui.widgets.summary_bar import listed
from nona.units import format_bandwidth


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of the pipeline: its page, its picture, what it holds now; ``state`` may be ``stale``."""

    page: str
    title: str
    picture: str
    value: str
    detail: str
    state: str = ""


def pipeline(state: AppState) -> tuple[Stage, ...]:
    """Model, contraction, cluster, workload, placement, simulation: what each holds now.

    A scenario of training jobs alone has two stages: cluster and training.
    """
    s = state.scenario
    if s.training is not None and not s.workload:
        return (_cluster(state), _training(state))
    total = sum(r.rate for r in s.workload)
    return (
        Stage(
            "pages/2_models.py",
            "Models",
            "models",
            f"{len(s.workload)} in the mix",
            ", ".join(s.labels[:6]) + ("…" if len(s.labels) > 6 else ""),
        ),
        Stage(
            "pages/3_contraction.py",
            "Contraction",
            "contraction",
            f"{s.contraction} rule",
            "operators become tasks where splitting them could not help",
        ),
        _cluster(state),
        Stage(
            "pages/5_workload.py",
            "Workload",
            "workload",
            f"{total:.4g} queries/s",
            f"background: executors {100 * s.background.compute.utilization:.3g} %, "
            f"link {100 * s.background.network.utilization:.3g} %",
        ),
        _placement(state),
        _simulation(state),
    )


def _cluster(state: AppState) -> Stage:
    groups, network = state.scenario.cluster.servers, state.scenario.cluster.network
    return Stage(
        "pages/4_cluster.py",
        "Cluster",
        "cluster",
        f"{sum(g.count for g in groups)} servers",
        listed([f"{g.count} × {g.gpus} {g.gpu}" + (f" ({g.mig})" if g.mig else "") for g in groups], 6)
        + f"; {format_bandwidth(network.capacity)} shared",
    )


def _training(state: AppState) -> Stage:
    spec = state.scenario.training
    value, detail = "not run yet", ", ".join(spec.decided_by) if spec else ""
    if spec is not None and spec.elastic is not None:
        kind, history = "training-elastic", state.held("training-elastic", ElasticHistory)
        means = None if history is None else by_mean(history.report.policies)
    else:
        kind, outcome = "training", state.held("training", TrainingOutcome)
        means = None if outcome is None else by_mean_jct(outcome.report.policies)
        detail = detail if outcome is None else f"{len(outcome.report.policies)} policies compared"
    if means is not None:
        value = f"shortest mean JCT: {next(iter(means))}" if means else "no job was completed"
    return Stage("pages/10_training.py", "Training", "simulation", value, detail, _age(state, kind))


def _placement(state: AppState) -> Stage:
    data = state.held("place", SolvedPlacement)
    value, detail = "not solved yet", "solve it on its page"
    if data is not None:
        value = f"predicted mean JCT {time_text(mean_of(data.nona))}"
        if is_slo(data.nona):
            value = f"predicted SLO hits {hits_text(data.nona).removesuffix(', by sampled jobs')}"
        detail = f"gap to the certified bound: {gap_text(data.nona)}"
        if data.ended_early_s is not None:
            detail = f"cancelled early; {detail}"
    return Stage("pages/6_placement.py", "Placement", "placement", value, detail, _age(state, "place"))


def _simulation(state: AppState) -> Stage:
    result = state.held("simulate", SimulatedRun)
    value, detail = "not run yet", ", ".join(e.name for e in state.scenario.schedulers)
    if result is not None:
        found = result.report.schedulers
        means = {
            n: r.jct_s.mean for n, r in found.items() if r.state == "stable" and r.jct_s.mean is not None
        }
        best = min(means, key=lambda n: means[n], default=None)
        value = f"shortest mean JCT: {best}" if best else "every scheduler is overloaded"
        detail = f"{len(found)} schedulers compared"
    return Stage("pages/7_simulation.py", "Simulation", "simulation", value, detail, _age(state, "simulate"))


def _age(state: AppState, kind: str) -> str:
    return "stale" if state.is_stale(kind) else ""
