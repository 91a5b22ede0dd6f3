"""Training: long jobs; who gets which GPUs, for how long, and what it costs."""

from nona.app.pages.run_page import run_page
from nona.app.pages.training.elastic import elastic_page
from nona.app.pages.training.page import TRAINING, start_screen
from nona.app.session.workspace import current

state = current()
spec = state.scenario.training
if spec is None:
    start_screen(state)
elif spec.elastic is not None:
    elastic_page(state, spec.elastic)
else:
    run_page(state, TRAINING)
