"""Stages of a row on the Scenario page: where each task of its model runs."""

from __future__ import annotations

from functools import partial

import streamlit as st

from nona.app.form import field
from nona.app.models.loading import load_graph
from nona.app.session.state import AppState
from nona.app.widgets.fields import field_error, plain, selector
from nona.core.errors import NonaError
from nona.scenario.rows import StageSpec

EXECUTORS, INSTANCES, HOST = "The GPUs' queues", "Own instances", "The host's processors"
MOST = 24  # tasks that are listed; a model with more has its stages in the file


def stages_fold(state: AppState, index: int) -> None:
    """Draw where each task of the row's model runs."""
    row = state.scenario.workload[index]
    try:
        tasks = [operator.id for operator in load_graph(state, row.model, row.symbols).operators]
    except NonaError:
        return  # the row says what is wrong with its model
    shown = tasks if len(tasks) <= MOST else list(row.stages)
    if not shown:
        return
    title = f"Stages of {plain(state.scenario.labels[index])}"
    with st.expander(title, icon=":material/account_tree:" if row.stages else None):
        st.caption(
            "The instances of a stage take tasks from one queue on each server. Instances on one GPU run at "
            "once and slow one another. With stages the model is not contracted."
        )
        for name in shown:
            _stage(state, index, name)
        field_error(state, ("workload", index, "stages"))


def _stage(state: AppState, index: int, name: str) -> None:
    spec = state.scenario.workload[index].stages.get(name)
    now = EXECUTORS if spec is None else HOST if spec.cpu is not None else INSTANCES
    place = ("workload", index, "stages", name)
    left, right = st.columns([1, 3], vertical_alignment="top")
    with left:
        key = f"stage-{state.revision}-{index}-{name}"
        hint = "Where this task runs."
        selector(
            plain(name), [EXECUTORS, INSTANCES, HOST], now, key, partial(_move, state, index, name), hint
        )
    with right:
        if spec is not None and spec.cpu is not None:
            with st.grid(3, min_column_width=90, vertical_alignment="bottom"):
                field(state, (*place, "cpu"))
        for number in range(len(spec.instances) if spec else 0):
            with st.grid(3, min_column_width=90, vertical_alignment="bottom"):
                for key in ("group", "count", "gpus"):
                    field(state, (*place, "instances", number, key))


def _move(state: AppState, index: int, name: str, where: str) -> None:
    """Let a task run elsewhere."""
    path = ("workload", index, "stages")
    stages = {k: v for k, v in dict(state.value(path)).items() if k != name}
    if where == INSTANCES:
        group = next(n for n, g in enumerate(state.scenario.cluster.servers) if g.engine is None)
        stages[name] = StageSpec.model_validate({"instances": [{"group": group}]}).model_dump(mode="json")
    if where == HOST:
        stages[name] = StageSpec(cpu=1).model_dump(mode="json")
    state.edit(path, stages)
