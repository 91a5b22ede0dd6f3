"""Edits of the scenario's part ``plan``: begin one, add and remove offers, links, targets, watts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.errors import NonaError
from nona.scenario.schema import Scenario
from nona.ui.pages.workload.edits import add_entry
from nona.ui.session.state import AppState, Path

PART = "plan"
OFFERS: Path = (PART, "offers")
TARGETS: Path = (PART, "targets")
WATTS: Path = (PART, "prices", "watts")
_OF_OFFER = ("gpu", "mig", "gpus", "vcpus", "mps")


def begin_plan(state: AppState) -> None:
    """Add a part ``plan`` that offers what the cluster has."""
    if state.edit((PART,), {"offers": offers_of(state.scenario)}):
        state.revision += 1
        state.tell("The servers of this cluster are on offer now. Add other GPUs, or find the plan at once.")


def end_plan(state: AppState) -> None:
    """Take the part ``plan`` out of the scenario."""
    if state.edit((PART,), None):
        state.revision += 1


def offers_of(scenario: Scenario) -> list[dict[str, Any]]:
    """The servers of the cluster as offers, each kind once."""
    found: list[dict[str, Any]] = []
    for group in scenario.cluster.servers:
        offer = {k: v for k, v in group.model_dump(mode="json").items() if k in _OF_OFFER and v is not None}
        if offer not in found:
            found.append(offer)
    return found


def add_offer(state: AppState, names: list[str]) -> None:
    """Offer one more GPU, the first of ``names`` that is not on offer yet."""
    plan = state.scenario.plan
    used = {o.gpu for o in plan.offers} if plan else set()
    gpu = next((n for n in names if n not in used), names[0])
    if plan is not None and not plan.offers:  # what the cluster has was on offer without being written
        state.edit(OFFERS, offers_of(state.scenario))
    add_entry(state, OFFERS, {"gpu": gpu})


def set_gpu(state: AppState, index: int, gpu: str) -> None:
    """Offer another GPU in that place: layout, clients and price were those of the old one."""
    kept = {k: v for k, v in state.value((*OFFERS, index)).items() if k in ("gpus", "vcpus", "most")}
    _put(state, (*OFFERS, index), {"gpu": gpu, **kept})


def targets_of(state: AppState, label: str) -> dict[str, Any]:
    """What is asked of one model alone, as it was typed."""
    draft = state.drafts.get((*TARGETS, label))
    found = draft.value if draft else state.value(TARGETS).get(label)
    return {k: v for k, v in (found or {}).items() if v is not None}


def set_target(state: AppState, label: str, key: str, text: str) -> None:
    """Ask ``key`` (``hit``, ``p50``, …) of one model; empty: no longer, and without any the common target."""
    now = targets_of(state, label)
    asked = {k: v for k, v in {**now, key: text}.items() if v}
    if asked:
        state.edit((*TARGETS, label), asked)
        return
    state.drafts.pop((*TARGETS, label), None)
    _put(state, TARGETS, {k: v for k, v in state.value(TARGETS).items() if k != label})


def set_watts(state: AppState, gpu: str, given: Mapping[str, float | None]) -> None:
    """What a GPU draws, idle and busy; both empty: as listed."""
    others = {k: v for k, v in state.value(WATTS).items() if k != gpu}
    idle, busy = given["idle"], given["busy"]
    known = {"idle": idle or 0.0, "busy": busy if busy is not None else idle}
    _put(state, WATTS, others if idle is None and busy is None else {**others, gpu: known})


def _put(state: AppState, path: Path, value: Any) -> None:
    try:
        state.edit(path, value)
        state.notice = ""
    except NonaError as error:
        state.notice = str(error)
