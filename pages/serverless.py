"""Serverless: workflows on shared GPUs; which policy keeps their SLOs, and at what cost."""

from nona.ui.pages.serverless import run_area, serverless_tabs, start_screen
from nona.ui.pages.serverless_form import controls
from nona.ui.session.workspace import current
from nona.ui.widgets.terms import guide_link

state = current()
if state.scenario.serverless is None:
    start_screen(state)
else:
    controls(state)
    data = run_area(state)
    serverless_tabs(state, data)
    guide_link("serverless", "What is simulated here, and what is assumed")
