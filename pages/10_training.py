"""Training: long jobs; who gets which GPUs, for how long, and what it costs."""

from nona.ui.pages.training.elastic.page import elastic_page
from nona.ui.pages.training.form.controls import controls
from nona.ui.pages.training.run_area import run_area
from nona.ui.pages.training.start import start_screen
from nona.ui.pages.training.tabs import training_tabs
from nona.ui.session.workspace import current
from nona.ui.widgets.guide_link import guide_link

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
