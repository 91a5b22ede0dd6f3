"""Simulation: one question's controls, then a run with live charts, quick what-ifs, or a sweep."""

from nona.ui.pages.simulation.baseline_views import baseline_panel
from nona.ui.pages.simulation.controls import controls, view_switch
from nona.ui.pages.simulation.result_tabs import result_tabs
from nona.ui.pages.simulation.run_area import run_area
from nona.ui.pages.simulation.runs_views import runs_bar
from nona.ui.pages.simulation.views import notes, overload_warnings, result_tiles, results_table
from nona.ui.pages.simulation.what_if import what_if
from nona.ui.pages.sweep.views import sweep_panel
from nona.ui.session.workspace import current
from nona.ui.shell.equivalents import equivalent
from nona.ui.widgets.tables import table

state = current()
controls(state)
view = view_switch()
if view == "What if":
    what_if(state)
elif view == "Sweep":
    sweep_panel(state)
else:
    data = run_area(state)
    if data is not None:
        overload_warnings(data.report.schedulers, state)
        result_tiles(data.report)
        runs_bar(state)
        baseline_panel(state)
        found = results_table(data.report.schedulers, data.predicted)
        table(found, "results", "Every scheduler with its state, times, SLO hits and loads", "simulation")
        notes(data)
        result_tabs(state, data)
    equivalent(state, "simulate", key="simulate")
