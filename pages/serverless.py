"""Serverless: workflows on shared GPUs; which policy keeps their SLOs, and at what cost."""

from nona.ui.pages.run_page import run_page
from nona.ui.pages.serverless import SERVERLESS, start_screen
from nona.ui.session.workspace import current

state = current()
if state.scenario.serverless is None:
    start_screen(state)
else:
    run_page(state, SERVERLESS)
