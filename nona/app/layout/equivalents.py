"""The same from a shell: the command that does what a page does, and its YAML."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import streamlit as st

from nona.app.session.state import AppState
from nona.app.widgets.downloads import file_stem
from nona.app.widgets.fields import plain
from nona.scenario.lookup import file_names
from nona.scenario.opening import SUFFIX


def scenario_file_name(state: AppState) -> str:
    """Name the file of the scenario for a command."""
    return f"{_stem(state)}.yaml"


def bundle_file_name(state: AppState) -> str:
    """Name the bundle of the scenario for a command."""
    return f"{_stem(state)}{SUFFIX}"


def _stem(state: AppState) -> str:
    return file_stem(state.scenario.name)


def equivalent(
    state: AppState,
    command: str,
    *arguments: str,
    key: str,
    scenario: bool = True,
    label: str = "Same from the shell",
) -> None:
    """Draw a popover with ``nona COMMAND …`` ready to copy, and the scenario as YAML.

    ``command``: one word, or two as in ``training simulate``. The scenario's file stands before
    ``arguments``; without ``scenario`` there is none, and the command stands for itself. The body is made
    only while the popover is open. A page with two of them gives each its ``label``.
    """
    popover = st.popover(label, icon=":material/terminal:", on_change="rerun", key=f"shell-{key}")
    if not popover.open:
        return
    files = file_names(state.scenario)
    name = bundle_file_name(state) if files else scenario_file_name(state)
    file = [name] if scenario else []
    with popover:
        st.code(_command_line(*command.split(), *file, *arguments), language="bash", wrap_lines=True)
        if scenario:
            download = "Save as bundle" if files else "Save as YAML"
            more = f"; it contains {', '.join(files)}" if files else ", or save this there"
            st.caption(f"Get {plain(name)} by *{download}* under *File*{plain(more)}.")
            st.code(state.dump(), language="yaml", height=320)


def _command_line(*words: str) -> str:
    """Return the words after ``nona`` as a shell reads them.

    >>> _command_line("place", "my scenario.yaml", "--json")
    "nona place 'my scenario.yaml' --json"
    """
    return shlex.join(["nona", *_given(words)])


def _given(words: Sequence[str]) -> list[str]:
    return [w for w in words if w]
