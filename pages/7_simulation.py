"""Simulation: one question's controls, then a run with live charts, quick what-ifs, or a sweep."""

from nona.ui.baseline_views import baseline_panel
from nona.ui.equivalents import equivalent
from nona.ui.result_tabs import result_tabs
from nona.ui.run_area import run_area
from nona.ui.runs_views import runs_bar
from nona.ui.simulation_controls import controls, view_switch
from nona.ui.simulation_views import notes, overload_warnings, result_tiles, results_table
from nona.ui.sweep_views import sweep_panel
from nona.ui.tables import table
from nona.ui.what_if import what_if
from nona.ui.workspace import current

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
        overload_warnings(data["report"]["schedulers"], state)
        result_tiles(data["report"])
        runs_bar(state)
        baseline_panel(state)
        found = results_table(data["report"]["schedulers"], data["predicted"])
        table(found, "results", "Every scheduler with its state, times, SLO hits and loads", "simulation")
        notes(data)
        result_tabs(state, data)
    equivalent(state, "simulate", key="simulate")
