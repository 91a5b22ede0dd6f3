"""Serverless: workflows on shared GPUs; which policy keeps their SLOs, and at what cost."""

from nona.app.pages.run_page import run_page
from nona.app.pages.serverless.page import SERVERLESS, start_screen
from nona.app.session.workspace import current

state = current()
if state.scenario.serverless is None:
    start_screen(state)
else:
    run_page(state, SERVERLESS)
