"""Choices that are no part of the scenario: kept over pages, reloads and errors.

A widget's value lives as long as its page is shown, or at most as the browser's connection.
``AppState.kept`` outlives both: what stands in the widgets named below is noted at every run of the
script, and put back where it has gone. Buttons and uploads cannot be put back, so that only what is
named here is. From page to page the widgets' ``persist_state`` is needed as well: a page that is opened
runs twice, and of the second run the browser shows the default in place of what was put back.
"""

from __future__ import annotations

import re
from fnmatch import translate
from typing import Any

import streamlit as st

from nona.app.session.state import AppState

LONGEST = 2000  # characters of a text
MOST = 300  # values
# One among several: a link carries these too. For what is no choice Streamlit takes the default.
CHOICES = (
    "*-at-once-*",
    "all-columns-*",
    "another-language-model",
    "another-model",
    "application",
    "baseline-measure",
    "batches-on-*",
    "claims-of",
    "decisions-question",
    "device",
    "device-base",
    "difference-baseline",
    "effort",
    "evidence-tabs",
    "examples",
    "fit-network",
    "grid-measure",
    "grid-scheduler",
    "holds-scheduler",
    "invoker",
    "language-plan-tabs",
    "language-plane-row",
    "language-router",
    "language-row",
    "language-tabs",
    "map-measure",
    "model-beside",
    "model-view",
    "node-policy",
    "over-number",
    "paper-schedulers",
    "place-tabs",
    "placed-model",
    "placed-subgraph-*",
    "plan-load-measure",
    "plan-measure",
    "plan-option",
    "plan-part",
    "plan-pinned",
    "plan-tabs",
    "plan-verdicts",
    "policy",
    "predictions-of",
    "result-model",
    "result-scheduler",
    "runs-shown",
    "saved-measure",
    "search-application",
    "search-stage",
    "serverless-shown-*",
    "serverless-tabs",
    "simulate-tabs",
    "simulation-view",
    "simulator-of",
    "story-batch",
    "story-policy",
    "study-kind",
    "study-load-setting",
    "study-profiles",
    "study-setting",
    "sweep-shown-*",
    "sweep-value-*",
    "sweep-view",
    "times-function",
    "training-elastic-tabs",
    "training-shown-*",
    "training-tabs",
    "what-if-open",
    "working-model",
    "working-on",
    "working-subgraph-*",
)
# Text typed and not sent yet.
TYPED = (
    "device-name",
    "device-fp*",
    "device-memory",
    "device-bandwidth",
    "earlier-*",
    "guide-find",
    "runs-only-saved",
    "save-name-*",
    "save-note-*",
    "saved-find",
    "saved-name-*",
    "saved-note-*",
    "saved-tick-*",
    "symbol:*",
)
# One expression each, as every key of a page is looked at whenever it is drawn.
_CHOICE = re.compile("|".join(map(translate, CHOICES)))
_KEPT = re.compile("|".join(map(translate, (*CHOICES, *TYPED))))


def remember(state: AppState) -> None:
    """Note the values of the kept widgets."""
    for key in st.session_state:
        if is_kept(str(key)) and _is_plain(value := st.session_state[key]):
            state.kept.pop(str(key), None)
            state.kept[str(key)] = value
    for old in list(state.kept)[:-MOST]:
        del state.kept[old]


def restore(state: AppState) -> None:
    """Restore the kept values that are gone, before any widget is drawn."""
    for key, value in state.kept.items():
        if key not in st.session_state:
            st.session_state[key] = value


def choices(state: AppState) -> dict[str, Any]:
    """Return the choices among what is kept, the latest last, as a link carries them."""
    return {k: v for k, v in state.kept.items() if is_choice(k) and not isinstance(v, list | tuple)}


def take_choices(state: AppState, given: dict[str, Any]) -> None:
    """Take the choices of a link; whatever else it names is left alone."""
    for key, value in given.items():
        if is_choice(key) and _is_plain(value):
            choose(state, key, value)


def choose(state: AppState, key: str, value: Any) -> None:
    """Set a choice from a callback, also one whose widget is on another page."""
    state.kept[key] = st.session_state[key] = value


def is_choice(key: str) -> bool:
    """Return whether ``key`` is that of a widget with a choice among several.

    >>> is_choice("result-model"), is_choice("run-simulate"), is_choice("device-name")
    (True, False, False)
    """
    return _CHOICE.match(key) is not None


def is_kept(key: str) -> bool:
    """Return whether the value of the widget ``key`` is kept.

    >>> is_kept("result-model"), is_kept("run-simulate"), is_kept("device-name")
    (True, False, True)
    """
    return _KEPT.match(key) is not None


def _is_plain(value: Any) -> bool:
    """Return whether the value can be kept: a text, a number, a truth value, or a list of such.

    >>> _is_plain("x"), _is_plain([1, 2.0]), _is_plain(object()), _is_plain("x" * 9999)
    (True, True, False, False)
    """
    if isinstance(value, list | tuple):
        return len(value) <= 100 and all(_is_plain(v) for v in value)
    if isinstance(value, str):
        return len(value) <= LONGEST
    return isinstance(value, bool | int | float)
