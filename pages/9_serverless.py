"""Serverless: workflows on shared GPUs; which policy keeps their SLOs, and at what cost."""

from nona.ui.pages.serverless.form.controls import controls
from nona.ui.pages.serverless.run_area import run_area
from nona.ui.pages.serverless.start import start_screen
from nona.ui.pages.serverless.tabs import serverless_tabs
from nona.ui.session.workspace import current
from nona.ui.widgets.guide_link import guide_link

state = current()
if state.scenario.serverless is None:
    start_screen(state)
else:
    controls(state)
    data = run_area(state)
    serverless_tabs(state, data)
    guide_link("serverless", "What is simulated here, and what is assumed")
