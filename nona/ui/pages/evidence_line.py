"""One number of the evidence beside each result, from the studies that ship."""

from __future__ import annotations

from nona.report.simulations.findings import shortest
from nona.report.simulations.report import SimulatedRun
from nona.report.studies.prediction_map import like_cases
from nona.report.studies.serverless_tables import judged_claims
from nona.report.studies.training import judged
from nona.results.placement import SolvedPlacement
from nona.results.serverless_charts import ServerlessOutcome
from nona.results.serverless_study import ServerlessStudy
from nona.results.studies import PredictionMap, TrainingStudy
from nona.results.training import TrainingOutcome
from nona.study.shipped import stored_result
from nona.tables import share_text
from nona.ui.session.kept import choose
from nona.ui.session.page_list import page_file
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import button


def evidence_line(state: AppState, result: object) -> None:
    """Draw the number that stands for results like this one, which leads to its study on page Evidence."""
    text, tab = _evidence(state, result)
    if not text:
        return

    def show() -> None:
        choose(state, "evidence-tabs", tab)
        state.go_to = page_file("evidence")

    hint = "From the study that ships; opens it on page Evidence."
    button(text, "evidence-line", show, icon="fact_check", hint=hint, type="tertiary")


def _evidence(state: AppState, result: object) -> tuple[str, str]:
    """The number in words, and the tab of its study; empty where no study fits."""
    if isinstance(result, SolvedPlacement):
        mix = result.nona.predicted
        return _prediction(state, mix.compute_utilization, mix.network_utilization), "Prediction"
    if isinstance(result, SimulatedRun):
        best = shortest(result.report.schedulers)
        if best is None:
            return "", ""
        busy = result.report.schedulers[best].utilization
        return _prediction(state, busy.compute, busy.network), "Prediction"
    if isinstance(result, ServerlessOutcome):
        agree = [claim.order == "agrees" for claim in judged_claims(stored_result(ServerlessStudy))]
        return f"{sum(agree)} of {len(agree)} claims of the slides hold in this simulation", "The slides"
    if isinstance(result, TrainingOutcome):
        agree = [claim.order == "agrees" for claim in judged(stored_result(TrainingStudy))]
        return f"{sum(agree)} of {len(agree)} claims of Gavel's paper hold in this simulation", "Training"
    return "", ""


def _prediction(state: AppState, servers: float | None, link: float | None) -> str:
    spec = state.scenario
    if servers is None or link is None:
        return ""
    bursty = any(row.arrivals.process != "poisson" for row in spec.workload)
    used = link if link > spec.background.network.utilization + 1e-6 else None
    errors = like_cases(stored_result(PredictionMap), servers, used, bursty)
    if not errors:
        return "No tested case has a like load: simulate before relying on a prediction"
    middle = errors[len(errors) // 2]
    cases = "the one like case" if len(errors) == 1 else f"half of {len(errors)} like cases"
    return f"Prediction within {share_text(middle, 1)} in {cases}, at most {share_text(errors[-1])} off"
