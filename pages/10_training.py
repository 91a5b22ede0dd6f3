"""Training: long jobs; who gets which GPUs, for how long, and what it costs."""

from nona.ui.pages.training import run_area, start_screen, training_tabs
from nona.ui.pages.training_elastic import elastic_page
from nona.ui.pages.training_form import controls
from nona.ui.session.workspace import current
from nona.ui.widgets.terms import guide_link

state = current()
spec = state.scenario.training
if spec is None:
    start_screen(state)
elif spec.elastic is not None:
    elastic_page(state, spec.elastic)
else:
    controls(state)
    data = run_area(state)
    training_tabs(state, data)
    guide_link("training", "What is simulated here, and what is assumed")
