"""Open a saved item: its scenario, and where it is a run of this server, its result too."""

from __future__ import annotations

from nona.report.simulations.simulated import SimulatedRun
from nona.results.plan import PlanOutcome
from nona.results.saved import SavedItem
from nona.scenario.file import parse_scenario, scenario_hash
from nona.scenario.schema import Scenario
from nona.store.contents import Contents
from nona.store.kinds import PLAN
from nona.ui.jobs.kinds import KINDS
from nona.ui.pages.saved.access import attempt, store
from nona.ui.session.page_list import page_file
from nona.ui.session.start import with_files
from nona.ui.session.state import OPENED, AppState, Result


def open_item(state: AppState, item: SavedItem) -> None:
    """Make an item's scenario the session's own, as one step to undo, and go where its result is shown."""
    contents = attempt(state, lambda: store().contents(item.id))
    if contents is None:
        return
    taken = attempt(state, lambda: _with_files(contents, state))
    if taken is None:
        return
    state.apply(taken, f"{OPENED}the saved “{item.name}”")  # a step of its own, whatever was opened before
    state.drafts = {}
    state.show_first_model()
    if not item.imported and _shown(state, item, contents, taken):
        state.tell(f"“{item.name}” is open, with its result.")
    else:
        state.tell(f"The scenario of “{item.name}” is open; run it to see its result here.")
    state.go_to = page_file("plan" if item.kind == PLAN else "simulation")


def _with_files(contents: Contents, state: AppState) -> Scenario:
    """The scenario, its files among the session's uploads."""
    opened = contents.opened()
    return with_files(opened.scenario, opened.sources, state.uploads)


def _shown(state: AppState, item: SavedItem, contents: Contents, taken: Scenario) -> bool:
    """Show the result, if this version can read it and it belongs to the scenario; whether it is shown."""
    try:
        found = contents.answer()
    except ValueError:
        return False
    if isinstance(found, PlanOutcome):
        own = parse_scenario(found.about.yaml)
        state.results["plan"] = Result(_fingerprint("plan", own), found, f"saved-{item.id}")
        return True
    if not isinstance(found, SimulatedRun) or _fingerprint("simulate", found.scenario) != _fingerprint(
        "simulate", taken
    ):
        return False
    _show_run(state, item, found)
    return True


def _show_run(state: AppState, item: SavedItem, run: SimulatedRun) -> None:
    job_id, fingerprint = f"saved-{item.id}", _fingerprint("simulate", run.scenario)
    if state.runs.of_job(job_id) is None:
        state.runs.add(fingerprint, job_id, run, item.name)
    state.results["simulate"] = Result(fingerprint, run, job_id)


def _fingerprint(kind: str, scenario: Scenario) -> str:
    return scenario_hash(scenario, *KINDS.find(kind).parts)
