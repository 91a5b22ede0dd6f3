"""The same from a shell: the command that does what a page does, and the scenario's YAML for it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import streamlit as st

from nona.ui.session.state import AppState
from nona.ui.session.uploads import safe_name


def scenario_file_name(state: AppState) -> str:
    """What the scenario's file is called when it is downloaded."""
    return f"{safe_name(state.scenario.name).replace(' ', '_')}.yaml"


def equivalent(state: AppState, command: str, *arguments: str, key: str, scenario: bool = True) -> None:
    """A popover with ``nona COMMAND …`` ready to copy, and the scenario as YAML.

    The scenario's file stands before ``arguments``; without ``scenario`` there is none, and the
    command stands for itself. The body is made only while the popover is open.
    """
    popover = st.popover(
        "Same from the shell", icon=":material/terminal:", on_change="rerun", key=f"shell-{key}"
    )
    if not popover.open:
        return
    file = [scenario_file_name(state)] if scenario else []
    with popover:
        st.code(command_line(command, *file, *arguments), language="bash", wrap_lines=True)
        if scenario:
            st.caption(
                "Save this in the same folder, or use *Download YAML* in the side bar (with uploaded models)."
            )
            st.code(state.dump(), language="yaml", height=320)


def command_line(*words: str) -> str:
    """The words after ``nona`` as a shell reads them.

    >>> command_line("place", "my scenario.yaml", "--json")
    "nona place 'my scenario.yaml' --json"
    """
    return shlex.join(["nona", *_given(words)])


def _given(words: Sequence[str]) -> list[str]:
    return [w for w in words if w]
