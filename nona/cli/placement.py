"""``nona place``: solve the placement of a scenario."""

from __future__ import annotations

from nona.cli.commands.scenarios import PlaceOptions
from nona.cli.output import ProgressReport, emit, warn_of_models
from nona.core.output_files import check_places, write_text
from nona.core.tables import share_text, time_text
from nona.queries.placement.result import Placement
from nona.queries.placement.results import LayoutComparison
from nona.queries.report.placement.text import placement_text
from nona.queries.workflows import placements
from nona.queries.workflows.placement_outcome import full_report, placement_outcome
from nona.queries.workflows.preparation import PreparedSystem, prepare
from nona.queries.workflows.shipped import now_text
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario


def place(arguments: PlaceOptions, scenario: Scenario, sources: Sources) -> None:
    """Solve the placement of a scenario."""
    check_places(arguments.html)
    prepared = prepare(scenario, sources)
    beside = warn_of_models(prepared)
    placement = _solved(arguments, prepared)
    layouts = _compared(arguments, prepared, sources)
    report = full_report(prepared, placement, layouts)
    emit(arguments, report, placement_text, beside)  # before the file
    if arguments.html:
        from nona.queries.report.html import placement_html

        outcome = placement_outcome(prepared, placement, now_text(), layouts=layouts)
        write_text(arguments.html, placement_html(outcome))


def _solved(arguments: PlaceOptions, prepared: PreparedSystem) -> Placement:
    line, text = ProgressReport(quiet=arguments.json), "solving the placement"

    def better(placement: Placement) -> None:
        nonlocal text
        text = f"solving the placement; best mean JCT so far {time_text(placement.objective_s)}"

    placement = placements.place(prepared, check=lambda: line.report(text), on_better=better)
    line.end()
    return placement


def _compared(arguments: PlaceOptions, prepared: PreparedSystem, sources: Sources) -> LayoutComparison | None:
    if not any(row.stages for row in prepared.scenario.workload):
        return None
    from nona.queries.workflows.stage_layouts import compare_stage_layouts

    line = ProgressReport(quiet=arguments.json)
    found = compare_stage_layouts(
        prepared,
        sources,
        on_progress=lambda done: line.report(f"comparing layouts of stages: {share_text(done)}"),
    )
    line.end()
    return found
