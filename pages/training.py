"""Training: long jobs; who gets which GPUs, for how long, and what it costs."""

from nona.ui.pages.run_page import run_page
from nona.ui.pages.training import TRAINING, start_screen
from nona.ui.pages.training_elastic import elastic_page
from nona.ui.session.workspace import current

state = current()
spec = state.scenario.training
if spec is None:
    start_screen(state)
elif spec.elastic is not None:
    elastic_page(state, spec.elastic)
else:
    run_page(state, TRAINING)
