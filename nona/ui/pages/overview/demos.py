"""Questions to start from, and the shipped scenarios."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from nona.scenario.file import load_scenario
from nona.sources.samples import scenario_description, scenario_path
from nona.study.network_story import LINK_LOAD
from nona.ui.pages.overview.story.story import chosen_load
from nona.ui.session.kept import choose
from nona.ui.session.shipped import is_own, open_scenario
from nona.ui.session.state import AppState
from nona.ui.tasks.story import SCENARIO


@dataclass(frozen=True, slots=True)
class Question:
    """A user's question: the page with the answer, and the scenario to start from.

    Without a ``scenario`` the present one is kept, and so is one that somebody made, if it has the ``part``
    that the question is about. ``choices`` are (widget, value) on that page.
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
        "pages/2_models.py",
    ),
    Question(
        "What does my cluster need?",
        "How many servers keep the SLOs, scheduler by scheduler; then change servers, GPUs, MIG slices or "
        "the link, and see the difference with its interval.",
        "Size a cluster",
        ":material/dns:",
        "pages/6_placement.py",
        "vision_language_8_servers",
        (("placement-tabs", "How many servers"), ("simulation-view", "Run")),
    ),
    Question(
        "What should we buy, and when does it break?",
        "GPUs on offer at their prices, whole or sliced: the cheapest cluster and scheduler that keep every "
        "target, with headroom, failures and the month in which growth uses it up.",
        "Plan a purchase",
        ":material/shopping_cart:",
        "pages/8_plan.py",
        "a100s_sliced_or_l4s",
        (("plan-tabs", "More traffic"),),
    ),
    Question(
        "Which scheduler, up to what load?",
        "The five models of the Nona paper on 80 servers: every scheduler against background traffic, and "
        "where each one becomes unstable.",
        "Compare schedulers",
        ":material/stacked_line_chart:",
        "pages/7_simulation.py",
        "five_models_80_servers",
        (("simulation-view", "Sweep"),),
    ),
    Question(
        "Which policy keeps the SLO of my serverless workflows, and at what cost?",
        "Functions batched and sized on shared GPUs: ESG against INFless, FaST-GShare, Orion and "
        "Aquatope; hit rate, cost, cold starts, the search step by step.",
        "Compare policies",
        ":material/bolt:",
        "pages/9_serverless.py",
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
        "pages/10_training.py",
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
        "pages/12_validation.py",
    ),
)


def demo_title(name: str, long: bool = False) -> str:
    """Display name of a shipped scenario, or its description."""
    return scenario_description(name) if long else load_scenario(scenario_path(name)).name


def open_demo(state: AppState, key: str) -> None:
    """Open the shipped scenario that the field ``key`` names.

    The field is read when the button is pressed: the page may not have been drawn since it changed.
    """
    if open_scenario(state, st.session_state[key]):
        state.tell(f"“{state.scenario.name}” is the scenario now.", "simulation", "Simulate it")


def answer(state: AppState, question: Question) -> None:
    """Open the question's scenario, where it has one and nobody's own can be asked, and go to its page."""
    own = is_own(state.scenario)
    if question.scenario and not (own and getattr(state.scenario, question.part)):
        if not open_scenario(state, question.scenario):
            return
        if own:
            state.tell(
                f"“{state.scenario.name}” is the scenario now; *Undo* in the side bar brings yours back."
            )
    for key, value in question.choices:
        choose(state, key, value)
    state.go_to = question.page


def open_example(state: AppState, page: str) -> None:
    """Open the story's scenario with the link's load as chosen there, and go to ``page``."""
    if open_scenario(state, SCENARIO, {LINK_LOAD: chosen_load()}):
        state.go_to = page
