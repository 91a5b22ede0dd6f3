"""The Overview: questions, shipped scenarios, the network story, the pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import streamlit as st

from nona.report.figures import scheduler_style
from nona.report.placements.certificate import gap_text, hits_text, is_slo, mean_of
from nona.report.simulations.report import SimulatedRun
from nona.report.training.findings import by_mean_jct
from nona.results.document import Document, Figure
from nona.results.elastic import ElasticHistory
from nona.results.placement import SolvedPlacement
from nona.results.simulation_charts import LINK_LOAD, STORY_SCENARIO, STRATEGIES, Story, StoryLoad
from nona.results.training import TrainingOutcome
from nona.sources.samples import scenario_families, shipped_scenario
from nona.study.shipped import stored_result
from nona.tables.formats import time_text
from nona.ui.pages.demo import begin
from nona.ui.session.kept import choose
from nona.ui.session.opening import is_own, open_shipped_scenario
from nona.ui.session.state import AppState
from nona.ui.widgets.components import declare
from nona.ui.widgets.fields import plain
from nona.ui.widgets.folding import listed
from nona.units import format_bandwidth, format_number

STORY_KEY = "network-story"
HIGHEST_MS = 60.0  # of the curve's axis: beyond it lies only what has all but stopped
_story_component = declare("story", "story", "curve")
TOLD = {
    "local": ("One server", "All four tasks run on one server, one after the other."),
    "spread": ("Split blindly", "Tasks 2 and 3 go to other servers, whatever the link costs."),
    "nona": ("Split by Nona", "Only tasks that gain from it are sent away, given the link's load."),
}


class StrategyLook(Document):
    """A strategy's words, colour and symbol."""

    title: str
    about: str
    colour: str
    symbol: str


class StoryView(Document):
    """The data for the browser."""

    points: tuple[StoryLoad, ...]
    limit: Figure
    order: tuple[str, ...]
    looks: Mapping[str, StrategyLook]
    longest_ms: float
    most_ms: float
    finding: str
    alt: str


@st.fragment
def network_story() -> None:
    """Show the story that ships."""
    story = stored_result(Story)
    _story_component(key=STORY_KEY, data=story_view(story).to_json(), on_load_change=lambda: None)
    st.caption(
        f"Curves: by formula. Symbols and bars: {story.jobs} simulated jobs at each point; they ship with "
        f"version {story.version}."
    )


def _chosen_load() -> float:
    """The link load on this session's slider."""
    return float((st.session_state.get(STORY_KEY) or {}).get("load") or 0.0)


def story_view(story: Story) -> StoryView:
    """The points with looks and titles, and the range of the axes."""
    first = story.points[0].runs
    return StoryView(
        points=story.points,
        limit=story.limit,
        order=STRATEGIES,
        looks={name: _look(name) for name in STRATEGIES},
        longest_ms=max(first[name].jct_ms for name in STRATEGIES),
        most_ms=HIGHEST_MS,
        finding=finding(story.limit),
        alt=f"Mean completion time over the load of the link. {finding(story.limit)}",
    )


def _look(name: str) -> StrategyLook:
    (title, about), style = TOLD[name], scheduler_style(name)
    return StrategyLook(title=title, about=about, colour=style.colour, symbol=style.symbol)


def finding(limit: float | None) -> str:
    """Name the link load up to which splitting pays; ``limit`` is ``None`` where it always does.

    >>> finding(0.798)
    'By the formula, splitting pays until others take 80 % of the link'
    """
    if limit is None:
        return "By the formula, splitting pays at every load of the link"
    return f"By the formula, splitting pays until others take {100 * limit:.0f} % of the link"


@dataclass(frozen=True, slots=True)
class Question:
    """A user's question: the page with the answer, and the ``scenario`` that ships with it, where it has one.

    It can be asked of a scenario that somebody made, if that has the ``part`` that the question is about.
    ``choices`` are (widget, value) on that page.
    """

    title: str
    about: str
    action: str
    icon: str
    page: str
    scenario: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    part: str = "workload"


QUESTIONS = (
    Question(
        "Can my model gain from splitting?",
        "Upload an ONNX file; see what merges and why, what is left to distribute, and the most that "
        "splitting could save.",
        "Look at a model",
        ":material/account_tree:",
        "pages/models.py",
    ),
    Question(
        "What does my cluster need?",
        "How many servers keep the SLOs, scheduler by scheduler; then change servers, GPUs, MIG slices or "
        "the link, and see the difference with its interval.",
        "Size a cluster",
        ":material/dns:",
        "pages/placement.py",
        "vision_language_8_servers",
        (("place-tabs", "How many servers"), ("simulation-view", "Run")),
    ),
    Question(
        "What should we buy, and when does it break?",
        "GPUs on offer at their prices, whole or sliced: the cheapest cluster and scheduler that keep every "
        "target, with headroom, failures and the month in which growth uses it up.",
        "Plan a purchase",
        ":material/shopping_cart:",
        "pages/plan.py",
        "a100s_sliced_or_l4s",
        (("plan-tabs", "More traffic"),),
    ),
    Question(
        "Which scheduler, up to what load?",
        "Every scheduler against background traffic on the link, and where each one becomes unstable.",
        "Compare schedulers",
        ":material/stacked_line_chart:",
        "pages/simulation.py",
        "five_models_80_servers",
        (("simulation-view", "Sweep"),),
    ),
    Question(
        "Which policy keeps the SLO of my serverless workflows, and at what cost?",
        "Functions batched and sized on shared GPUs: ESG against INFless, FaST-GShare, Orion and "
        "Aquatope; hit rate, cost, cold starts, the search step by step.",
        "Compare policies",
        ":material/bolt:",
        "pages/serverless.py",
        "strict_light",
        (("serverless-tabs", "Policies"),),
        "serverless",
    ),
    Question(
        "Who should get which GPU, when jobs train for hours?",
        "Long jobs on GPUs of several types: Gavel's policies, fair, fast or cheap; JCT, fairness and cost, "
        "round by round.",
        "Compare allocations",
        ":material/model_training:",
        "pages/training.py",
        "shared_research_cluster",
        (("training-tabs", "Policies"),),
        "training",
    ),
    Question(
        "How accurate are the results?",
        "Prediction against simulation with its interval, the simulator against queueing theory, modelled "
        "times against published ones.",
        "See the checks",
        ":material/fact_check:",
        "pages/evidence.py",
    ),
)


def demos() -> dict[str, str]:
    """Every shipped scenario, family by family → its family and its name, which may begin with that."""
    return {
        name: f"{family} · {shipped_scenario(name).name.removeprefix('Plan: ').removeprefix(f'{family}: ')}"
        for family, names in scenario_families().items()
        for name in names
    }


def asks_own(state: AppState, question: Question) -> bool:
    """Return whether the question uses the scenario that somebody made, which has the part that it needs."""
    part = getattr(state.scenario, question.part)
    return not question.scenario or (bool(part) and is_own(state.scenario))


def open_demo(state: AppState, key: str) -> None:
    """Open the shipped scenario that the field ``key`` names.

    The field is read when the button is pressed: the page may not have been drawn since it changed.
    """
    if open_shipped_scenario(state, st.session_state[key]):
        state.tell(f"“{state.scenario.name}” is the scenario now.", "simulation", "Simulate it")


def opens(state: AppState, question: Question) -> str:
    """Name the scenario that the question's button opens; empty where it keeps whatever is open."""
    if not question.scenario:
        return ""
    if asks_own(state, question):
        return f"Asked of your scenario “{state.scenario.name}”."
    return f"Opens “{shipped_scenario(question.scenario).name}”."


def answer(state: AppState, question: Question, demo: bool = False) -> None:
    """Go to the question's page with one's own scenario where it can be asked, else with the ``demo``."""
    own = is_own(state.scenario)
    if question.scenario and (demo or not asks_own(state, question)):
        if not open_shipped_scenario(state, question.scenario):
            return
        if own:
            state.tell(
                f"“{state.scenario.name}” is the scenario now; *Undo* in the side bar brings yours back."
            )
    for key, value in question.choices:
        choose(state, key, value)
    state.go_to = question.page


def question_card(state: AppState, number: int, question: Question) -> None:
    """A question with its buttons: the page with its scenario, its demo step by step."""
    with st.container(border=True, height="stretch"):
        st.markdown(f"**{question.title}**")
        st.caption(plain(f"{question.about} {opens(state, question)}".strip()))
        with st.container(horizontal=True, gap="xsmall"):
            st.button(
                question.action,
                icon=question.icon,
                key=f"question-{number}",
                width="stretch",
                on_click=answer,
                args=(state, question),
            )
            st.button(
                "Show me",
                icon=":material/slideshow:",
                key=f"show-{number}",
                on_click=begin,
                args=(state, number + 1),
                help="The demo of this question, step by step.",
            )
        if question.scenario and asks_own(state, question):
            st.button(
                plain(f"Open “{shipped_scenario(question.scenario).name}”"),
                key=f"question-demo-{number}",
                type="tertiary",
                on_click=answer,
                args=(state, question, True),
                help="The demo in place of your scenario; Undo brings that back.",
            )


def open_example(state: AppState, page: str) -> None:
    """Open the story's scenario with the link's load as chosen there, and go to ``page``."""
    if open_shipped_scenario(state, STORY_SCENARIO, {LINK_LOAD: _chosen_load()}):
        state.go_to = page


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
            "pages/models.py",
            "Models",
            "models",
            f"{len(s.workload)} in the mix",
            listed(s.labels, 6) or "none yet: add one on Scenario",
        ),
        _cluster(state),
        Stage(
            "pages/scenario.py",
            "Workload",
            "workload",
            f"{format_number(total, 4)} queries/s",
            f"background: executors {format_number(100 * s.background.compute.utilization)} %, "
            f"link {format_number(100 * s.background.network.utilization)} %",
        ),
        _placement(state),
        _simulation(state),
    )


def _cluster(state: AppState) -> Stage:
    groups, network = state.scenario.cluster.servers, state.scenario.cluster.network
    return Stage(
        "pages/scenario.py",
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
        means = None if history is None else by_mean_jct(history.report.policies)
    else:
        kind, outcome = "training", state.held("training", TrainingOutcome)
        means = None if outcome is None else by_mean_jct(outcome.report.policies)
        detail = detail if outcome is None else f"{len(outcome.report.policies)} policies compared"
    if means is not None:
        value = f"shortest mean JCT: {next(iter(means))}" if means else "no job was completed"
    return Stage("pages/training.py", "Training", "simulation", value, detail, _age(state, kind))


_NO_ROW = "needs a row in the workload"


def _placement(state: AppState) -> Stage:
    data = state.held("place", SolvedPlacement)
    value, detail = "not solved yet", "solve it on its page" if state.scenario.workload else _NO_ROW
    if data is not None:
        value = f"predicted mean JCT {time_text(mean_of(data.nona))}"
        if is_slo(data.nona):
            value = f"predicted SLO hits {hits_text(data.nona).removesuffix(', by sampled jobs')}"
        detail = f"gap to the certified bound: {gap_text(data.nona)}"
        if data.ended_early_s is not None:
            detail = f"cancelled early; {detail}"
    return Stage("pages/placement.py", "Placement", "placement", value, detail, _age(state, "place"))


def _simulation(state: AppState) -> Stage:
    result = state.held("simulate", SimulatedRun)
    names = ", ".join(e.name for e in state.scenario.schedulers)
    value, detail = "not run yet", names if state.scenario.workload else _NO_ROW
    if result is not None:
        schedulers = result.report.schedulers
        means = {
            n: r.jct_s.mean for n, r in schedulers.items() if r.state == "stable" and r.jct_s.mean is not None
        }
        best = min(means, key=lambda n: means[n], default=None)
        value = f"shortest mean JCT: {best}" if best else "every scheduler is overloaded"
        detail = f"{len(schedulers)} schedulers compared"
    return Stage("pages/simulation.py", "Simulation", "simulation", value, detail, _age(state, "simulate"))


def _age(state: AppState, kind: str) -> str:
    return "stale" if state.is_stale(kind) else ""


PIPELINE_KEY = "pipeline"
_component = declare("flow", tag="ol")


def flow(state: AppState, stages: Sequence[Stage]) -> None:
    """Draw the pipeline; a click on a stage goes to its page."""

    def open_page() -> None:
        asked = st.session_state[PIPELINE_KEY].get("open")
        if asked in {s.page for s in stages}:  # what the browser sends is not to be trusted
            state.go_to = asked

    _component(key=PIPELINE_KEY, data={"stages": [asdict(s) for s in stages]}, on_open_change=open_page)
