"""Home: the network story, recent scenarios, questions, examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from nona.app.layout.run_keeper import store
from nona.app.pages.runs import open_item
from nona.app.session.kept import choose
from nona.app.session.opening import is_own, open_shipped_scenario
from nona.app.session.page_list import page_file
from nona.app.session.state import AppState
from nona.app.store.report import cluster_text, workload_text
from nona.app.store.saved_results import SavedItem
from nona.app.widgets.components import Node, colour, declare, draw, el
from nona.app.widgets.fields import button, plain
from nona.core.document import Document, Figure
from nona.core.errors import StoreError
from nona.core.figures import scheduler_style
from nona.queries.chart_data import LINK_LOAD, STORY_SCENARIO, STRATEGIES, LinkLoadExample, StoryLoad
from nona.queries.workflows.shipped import stored_result
from nona.scenario.sample_files import scenario_families, scenario_title, shipped_scenario
from nona.scenario.schema import Scenario

STORY_KEY = "network-story"
HIGHEST_MS = 60.0  # of the curve's axis: beyond it lies only what has all but stopped
_story_component = declare("story", "story", "curve", why="a slider that redraws at 60 Hz without a run")
TOLD = {
    "local": ("One server", "All four tasks run on one server, one after the other."),
    "spread": ("Split blindly", "Tasks 2 and 3 run on other servers, whatever the transfer costs."),
    "nona": ("Split by Nona", "Only tasks that gain from it at this link load run on other servers."),
}


class StrategyStyle(Document):
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
    looks: Mapping[str, StrategyStyle]
    longest_ms: float
    most_ms: float
    finding: str
    alt: str


@st.fragment
def network_story() -> None:
    """Show the story that ships."""
    story = stored_result(LinkLoadExample)
    _story_component(key=STORY_KEY, data=story_view(story).to_json(), on_load_change=lambda: None)
    st.caption(
        f"Curves: formula. Symbols and bars: {story.jobs} simulated jobs at each point, shipped with version "
        f"{story.version}."
    )


def _chosen_load() -> float:
    return float((st.session_state.get(STORY_KEY) or {}).get("load") or 0.0)


def story_view(story: LinkLoadExample) -> StoryView:
    """Prepare the example of the link load for the browser."""
    first = story.points[0].runs
    return StoryView(
        points=story.points,
        limit=story.limit,
        order=STRATEGIES,
        looks={name: _strategy_style(name) for name in STRATEGIES},
        longest_ms=max(first[name].jct_ms for name in STRATEGIES),
        most_ms=HIGHEST_MS,
        finding=finding(story.limit),
        alt=f"Mean response time over the load of the link. {finding(story.limit)}",
    )


def _strategy_style(name: str) -> StrategyStyle:
    (title, about), style = TOLD[name], scheduler_style(name)
    return StrategyStyle(title=title, about=about, colour=style.colour, symbol=style.symbol)


def finding(limit: float | None) -> str:
    """Name the link load up to which splitting pays; ``limit`` is ``None`` where it always does.

    >>> finding(0.798)
    'By the formula, splitting pays until others take 80 % of the link'
    """
    if limit is None:
        return "By the formula, splitting pays at every load of the link"
    return f"By the formula, splitting pays until others take {100 * limit:.0f} % of the link"


@dataclass(frozen=True, slots=True)
class UserQuestion:
    """A user's question: the page with the answer, and the ``scenario`` that ships with it, where it has one.

    It can be asked of the user's own scenario, if that has the ``part`` that the question is about.
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
    UserQuestion(
        "Can my model gain from splitting?",
        "Upload an ONNX file. See which operators merge and why, what can be distributed, and how much time "
        "splitting could save.",
        "Look at a model",
        ":material/account_tree:",
        "pages/models.py",
    ),
    UserQuestion(
        "What does my cluster need?",
        "Find how many servers each scheduler needs to keep the SLOs. Then change servers, GPUs, MIG slices "
        "or the link, and see the difference with its interval.",
        "Size a cluster",
        ":material/dns:",
        "pages/plan.py",
        "vision_language_8_servers",
        (("simulation-view", "Run"),),
    ),
    UserQuestion(
        "What should we buy, and when does it break?",
        "Find the cheapest GPUs, whole or sliced, and the scheduler that keep every target. See the "
        "headroom, what failures do, and how many months the cluster lasts.",
        "Plan a purchase",
        ":material/shopping_cart:",
        "pages/plan.py",
        "a100s_sliced_or_l4s",
        (("plan-tabs", "More traffic"),),
    ),
    UserQuestion(
        "Which scheduler, up to what load?",
        "Compare all schedulers over background traffic on the link, and see where each one becomes "
        "unstable.",
        "Compare schedulers",
        ":material/stacked_line_chart:",
        "pages/simulation.py",
        "five_models_80_servers",
        (("simulation-view", "Sweep"),),
    ),
    UserQuestion(
        "Which policy keeps the SLO of my serverless workflows, and at what cost?",
        "Compare ESG with INFless, FaST-GShare, Orion and Aquatope on shared GPUs: SLO hit rate, cost, cold "
        "starts, and the search step by step.",
        "Compare policies",
        ":material/bolt:",
        "pages/serverless.py",
        "strict_light",
        (("serverless-tabs", "Policies"),),
        "serverless",
    ),
    UserQuestion(
        "Who should get which GPU, when jobs train for hours?",
        "Compare Gavel's fair, fast and cheap policies for long jobs on several GPU types: JCT, fairness and "
        "cost, round by round.",
        "Compare allocations",
        ":material/model_training:",
        "pages/training.py",
        "shared_research_cluster",
        (("training-tabs", "Policies"),),
        "training",
    ),
    UserQuestion(
        "Do long prompts stall the answers of language models?",
        "Simulate engines step by step. See when the first token comes, how fast the others follow, how full "
        "the KV caches are, and which router keeps the targets.",
        "Serve language models",
        ":material/forum:",
        "pages/simulation.py",
        "prefill_stalls_decode",
        (("language-tabs", "Routers"),),
        "language",
    ),
    UserQuestion(
        "Where is the bottleneck of what we run?",
        "Drop a Triton repository, the nodes, two scrapes of metrics, a load test. See what they say, "
        "simulate the cluster, and leave with the files of a better one.",
        "Open what you run",
        ":material/upload_file:",
        "pages/imported.py",
    ),
    UserQuestion(
        "How accurate are the results?",
        "Compare predictions with simulations, the simulator with queueing theory, and modelled times with "
        "published ones.",
        "See the checks",
        ":material/fact_check:",
        "pages/evidence.py",
    ),
)


def examples() -> dict[str, dict[str, str]]:
    """Family → the shipped scenarios in it with their names."""
    return {
        family: {name: scenario_title(name) for name in names}
        for family, names in scenario_families().items()
    }


FAMILY_PAGES = {
    "Queries": "scenario",
    "Planning": "plan",
    "Language models": "simulation",
    "Serverless": "serverless",
    "Training": "training",
}


def example_gallery(state: AppState) -> None:
    """Show the shipped scenarios in groups, each with a picture of its servers."""
    groups = examples()
    tabs = st.tabs(list(groups), key="examples", on_change="rerun")
    for tab, (family, names) in zip(tabs, groups.items(), strict=True):
        if tab.open:
            with tab, st.grid(3, min_column_width=250):
                for name, title in names.items():
                    _example(state, family, name, title)


def _example(state: AppState, family: str, name: str, title: str) -> None:
    scenario = shipped_scenario(name)
    with st.container(border=True, height="stretch", gap="xsmall"):
        draw(f"example-{name}", scenario_picture(scenario))
        st.markdown(f"**{plain(title)}**")
        st.caption(
            plain(f"{cluster_text(scenario)}; {workload_text(scenario)}"), help=plain(scenario.description)
        )
        st.button(
            "Open",
            icon=":material/rocket_launch:",
            key=f"open-{name}",
            help="Opens this example. Undo brings your scenario back.",
            on_click=open_demo,
            args=(state, name, page_file(FAMILY_PAGES[family])),
        )


MOST_SQUARES = 72  # servers of a picture


def scenario_picture(scenario: Scenario) -> Node:
    """Draw a scenario's servers as squares and its background traffic as a bar."""
    groups = scenario.cluster.servers
    total = sum(group.count for group in groups)
    squares = [
        el("i", "dot", __c=colour(number))
        for number, group in enumerate(groups)
        for _ in range(max(1, round(group.count * min(1.0, MOST_SQUARES / total))))
    ]
    busy = scenario.background.network.utilization
    return el(
        "div",
        "example",
        el("div", "meter", el("i", ""), __w=f"{100 * busy:.0f}%", __mc=colour(7)),
        el("div", "boxes-compact", *squares),
        role="img",
        aria_label=f"{total:,} servers; others take {100 * busy:.0f} % of their link",
    )


MOST_RECENT = 4


def recent(state: AppState) -> None:
    """Show the scenarios of the latest runs with their verdicts; nothing before the first run."""
    try:
        items = store().listing().items
    except StoreError:
        return  # page Runs says what is wrong
    latest: dict[str, SavedItem] = {}
    for item in items:
        latest.setdefault(item.facts.scenario, item)
    if not latest:
        return
    st.subheader("Recent scenarios")
    with st.grid(2, min_column_width=300):
        for item in list(latest.values())[:MOST_RECENT]:
            with st.container(border=True, height="stretch", gap="xsmall"):
                st.markdown(f"**{plain(item.facts.scenario)}**")
                st.caption(plain(f"{item.facts.finding} {item.facts.made}"))
                hint = "Opens its scenario with this result. Undo brings your scenario back."
                button("Open", f"recent-{item.id}", open_item, state, item, icon="open_in_browser", hint=hint)


def asks_own(state: AppState, question: UserQuestion) -> bool:
    """Return whether the question uses the user's own scenario, which has the part that it needs."""
    part = getattr(state.scenario, question.part)
    return not question.scenario or (bool(part) and is_own(state.scenario))


def open_demo(state: AppState, name: str, page: str) -> None:
    """Open a shipped scenario and go to ``page``."""
    if open_shipped_scenario(state, name):
        state.notify(f"“{state.scenario.name}” is the scenario now.")
        state.go_to = page


def opens(state: AppState, question: UserQuestion) -> str:
    """Name the scenario that the question's button opens; empty where it keeps whatever is open."""
    if not question.scenario:
        return ""
    if asks_own(state, question):
        return f"Uses your scenario “{state.scenario.name}”."
    return f"Opens “{shipped_scenario(question.scenario).name}”."


def answer(state: AppState, question: UserQuestion) -> None:
    """Go to the question's page with one's own scenario where it can be asked, else with the one shipped."""
    own = is_own(state.scenario)
    if not asks_own(state, question):
        if not open_shipped_scenario(state, question.scenario):
            return
        if own:
            state.notify(
                f"“{state.scenario.name}” is the scenario now; *Undo* in the side bar brings yours back."
            )
    for key, value in question.choices:
        choose(state, key, value)
    state.go_to = question.page


def question_card(state: AppState, number: int, question: UserQuestion) -> None:
    """Show a question and the button that leads to its page."""
    with st.container(border=True, height="stretch"):
        st.markdown(f"**{question.title}**")
        st.caption(plain(f"{question.about} {opens(state, question)}".strip()))
        st.button(
            question.action,
            icon=question.icon,
            key=f"question-{number}",
            width="stretch",
            on_click=answer,
            args=(state, question),
        )


def open_example(state: AppState, page: str) -> None:
    """Open the story's scenario with the link's load as chosen there, and go to ``page``."""
    if open_shipped_scenario(state, STORY_SCENARIO, {LINK_LOAD: _chosen_load()}):
        state.go_to = page
