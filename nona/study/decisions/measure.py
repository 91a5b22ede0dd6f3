"""One cell of the study: the placement, the simulated schedulers, the two ratios, the possible gain."""

from __future__ import annotations

import time
from dataclasses import dataclass

from nona.errors import PlacementError
from nona.placement.result.placement import Placement
from nona.results.document import number
from nona.results.studies.decisions import (
    Entrant,
    PlacementFigures,
    PossibleGain,
    RatioToBest,
    SimulatedCell,
    UnplacedCell,
)
from nona.schedulers.registry import get_scheduler, scheduler_names
from nona.study.decisions.cells import Cell
from nona.study.decisions.contest import Answer, Contest, Effort, Question
from nona.study.decisions.workloads import Workload, cell_scenario
from nona.study.placing.rehearsal import rehearsed
from nona.study.preparation import Study, prepare
from nona.study.simulating.run import place, steady_spread

BLIND = ("nona", "local", "spread", "expert")  # see no queue
AWARE = ("nona-live", "least-loaded", "nona-d2", "jsq-d", "opportunistic", "spark-fair")
REFERENCE, LIVE = "nona", "nona-live"
SHORTEST, LONGEST = 800, 20_000  # jobs of a run
SERVICES, TAIL = 60, 20  # services of the largest job that a run takes at least, and that follow it
SHORTEST_TAIL = 400  # jobs


@dataclass(frozen=True, slots=True)
class Size:
    """How much is simulated: ``jobs`` jobs in a run, or about ``events`` events; else as :class:`Effort`."""

    events: int = 120_000
    jobs: int | None = None
    replications: int = 5
    most: int = 10
    engine: str = "compiled"


def measure(workload: Workload, cell: Cell, size: Size, seed: int = 0) -> SimulatedCell | UnplacedCell:
    """Place and simulate a cell.

    ``blind`` compares nona with the best of the others that see no queue, ``live`` nona-live with the best
    of all others.
    """
    begin = time.process_time()
    study = prepare(cell_scenario(workload, cell, seed))
    try:
        placement = place(study)
    except PlacementError as error:
        return UnplacedCell(
            network=workload.name,
            link=cell.link,
            background=cell.background,
            load=cell.load,
            error=str(error),
            seconds=time.process_time() - begin,
        )
    placed_s = time.process_time() - begin
    contest = contest_of(study, placement, effort(study, cell, size))
    contest.hold()
    questions = {question.who: contest.answer(question) for question in contest.questions}
    blind = questions[REFERENCE]
    return SimulatedCell(
        network=workload.name,
        link=cell.link,
        background=cell.background,
        load=cell.load,
        jobs=contest.effort.jobs,
        placement=placement_figures(placement, placed_s),
        schedulers={name: contest.entrant(name) for name in (*contest.chosen, *_unheld(contest))},
        blind=_answer(blind),
        live=_answer(questions.get(LIVE)),
        potential=None if blind is None else _potential(placement, contest.entrant(blind.best)),
        seconds=time.process_time() - begin,
    )


def placement_figures(placement: Placement, seconds: float) -> PlacementFigures:
    """Figures of a placement that took ``seconds`` of CPU time."""
    predicted, formula, sampled = placement.prediction, placement.formula, placement.sampled
    return PlacementFigures(
        objective_s=placement.objective_s,
        objective_error_s=placement.objective_error_s,
        formula_s=placement.objective_s if formula is None else formula.objective_s,
        formula_gap=placement.gap if formula is None else formula.gap,
        origin="formula" if sampled is None else sampled.origin,
        lower_bound_s=placement.lower_bound_s,
        global_bound_s=placement.global_bound_s,
        gap=placement.gap,
        link=predicted.network_utilization,
        executors=predicted.compute_utilization,
        solver=placement.solver,
        seconds=seconds,
    )


def effort(study: Study, cell: Cell, size: Size) -> Effort:
    """Jobs for about as many events in every cell, but as many as :data:`SERVICES` of the largest job take.

    Events are tasks and the background messages that arrive meanwhile. The relaxation time of a queue at
    load ρ is about 1/(1 − ρ)² services; the warm-up is twice as long, counted in services of the largest
    job, and at least a tenth of the jobs. A run is cut off :data:`TAIL` such services after it.

    Source of the relaxation time: Abate and Whitt, Transient behavior of regulated Brownian motion, I,
    Advances in Applied Probability 19, 1987 (recollected).
    """
    system = study.system
    longest_s = max(float(q.tasks.compute_s[0].sum()) for q in system.queries)
    service = longest_s * system.total_rate  # jobs that arrive in the time of the largest
    events = sum(q.rate * len(q.tasks) for q in system.queries) + system.background_network.rate
    wanted = min(max(round(size.events * system.total_rate / events), SHORTEST), LONGEST)
    jobs = size.jobs or max(wanted, round(SERVICES * service))
    warmup = max(round(2.0 / (1.0 - cell.load) ** 2 * service), jobs // 10)
    tail = max(round(TAIL * service), SHORTEST_TAIL)
    return Effort(jobs, warmup, tail, size.replications, max(size.most, size.replications), size.engine)


def contest_of(study: Study, placement: Placement, effort: Effort) -> Contest:
    """The comparison of all schedulers of the study that this version includes."""
    known = [n for n in (*BLIND, *AWARE) if n in scheduler_names()]
    reasons = {}
    if steady_spread(study) is None:
        reasons["spread"] = "overload of link or executors, by formula"
    chosen = {}
    for name in known:
        if name not in reasons:
            chosen[name] = rehearsed(study.system, get_scheduler(name), placement, {})
    questions = [Question(REFERENCE, tuple(n for n in known if n in BLIND and n != REFERENCE))]
    if LIVE in known:
        questions.append(Question(LIVE, tuple(n for n in known if n != LIVE)))
    return Contest(study.system, chosen, effort, questions, reasons=reasons)


def _potential(placement: Placement, best: Entrant) -> PossibleGain | None:
    if number(placement.lower_bound_s) is None or best.mean_s is None:
        return None
    low_s = None if best.half_width_s is None else best.mean_s - best.half_width_s
    return PossibleGain(
        value=1.0 - placement.lower_bound_s / best.mean_s,
        low=None if low_s is None else 1.0 - placement.lower_bound_s / low_s,
    )


def _unheld(contest: Contest) -> list[str]:
    return [name for name in contest.reasons if name not in contest.chosen]


def _answer(answer: Answer | None) -> RatioToBest | None:
    if answer is None:
        return None
    ratio = answer.ratio
    return RatioToBest(best=answer.best, ratio=ratio.value, low=ratio.low, high=ratio.high, pairs=ratio.n)
