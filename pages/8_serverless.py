"""Serverless: workflows on shared GPUs; which policy keeps their SLO, and at what cost."""

from nona.ui.serverless.controls import controls
from nona.ui.serverless.start import start_screen
from nona.ui.session.workspace import current
from nona.ui.widgets.equivalents import equivalent

state = current()
if state.scenario.serverless is None:
    start_screen(state)
else:
    controls(state)
    equivalent(state, "serverless", key="serverless")
