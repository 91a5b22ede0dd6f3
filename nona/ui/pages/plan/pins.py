"""Options that a person picks out of a plan: known by what they are, so that they outlive another search."""

from __future__ import annotations

import streamlit as st

from nona.report.plan.words import servers_text
from nona.results.plan import PlanOption, PlanReport
from nona.ui.session.kept import choose
from nona.ui.session.state import AppState

PINNED = "plan-pinned"
MOST = 8


def option_name(option: PlanOption) -> str:
    """What is bought and which scheduler runs on it, e.g. ``3 × l4, nona``; the link where it matters."""
    return f"{servers_text(option.servers)}, {option.scheduler}, {option.link * 8e-9:.4g} Gbit/s"


def pinned_in(report: PlanReport) -> list[int]:
    """The indices of the pinned options that this report has."""
    names = _names()
    return [i for i, o in enumerate(report.options) if option_name(o) in names]


def turn_pin(state: AppState, option: PlanOption) -> None:
    """Pin an option, or let it go."""
    names, name = _names(), option_name(option)
    kept = [n for n in names if n != name] if name in names else [*names, name][-MOST:]
    choose(state, PINNED, kept)


def is_pinned(option: PlanOption) -> bool:
    """Whether a person has pinned it."""
    return option_name(option) in _names()


def _names() -> list[str]:
    found = st.session_state.get(PINNED)
    return [str(n) for n in found] if isinstance(found, list | tuple) else []
