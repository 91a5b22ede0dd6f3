"""Where the page begins when the scenario asks no question of this kind: demos, or the present scenario."""

from __future__ import annotations

import streamlit as st

from nona.ui.pages.plan.form.edits import begin_plan
from nona.ui.session.state import AppState
from nona.ui.shell.demo_cards import Demo, demo_cards, demo_error

DEMOS = (
    Demo(
        "black_friday",
        "Black Friday",
        "Traffic peaks every week and grows every month: what to buy, and when is it used up?",
        ":material/trending_up:",
    ),
    Demo(
        "a100s_sliced_or_l4s",
        "A100s sliced or L4s whole?",
        "Three ways to use a large GPU, against a small one: which mix is cheapest?",
        ":material/call_split:",
    ),
    Demo(
        "survive_a_rack",
        "Survive a rack",
        "Servers stand in racks: does the cheapest cluster survive the loss of one?",
        ":material/domain_disabled:",
    ),
    Demo(
        "language_and_vision",
        "Language models and vision on one cluster",
        "Long and short queries share GPUs, each with a target of its own.",
        ":material/join_inner:",
    ),
)


def start_screen(state: AppState) -> None:
    """What the page answers, the demos, and the way to begin with the present scenario."""
    st.markdown(
        "#### What should we buy, what does it cost, and when does it break?\n"
        "You say what each model must keep, how the traffic grows, and which GPUs are on offer at which "
        "prices. The plan finds the cheapest servers, MIG layouts and scheduler that keep every target, with "
        "evidence by simulation."
    )
    with st.grid(3, min_column_width=260):
        _own(state)
        demo_cards(state, "plan", DEMOS)
    demo_error(state)


def demo_screen(state: AppState) -> None:
    """The demos alone, where the present scenario has no queries."""
    with st.grid(3, min_column_width=260):
        demo_cards(state, "plan", DEMOS)
    demo_error(state)


def _own(state: AppState) -> None:
    with st.container(border=True, height="stretch"):
        st.markdown("**Your scenario**")
        st.caption("Plans for the workload as it is. The servers of the cluster are on offer at first.")
        st.button(
            "Plan for this workload",
            icon=":material/shopping_cart:",
            type="primary",
            key="make-plan",
            width="stretch",
            on_click=begin_plan,
            args=(state,),
            help="Adds the key plan to the scenario; the cluster stays as it is.",
        )
