"""Training: long jobs; who gets which GPUs, for how long, and what it costs."""

from nona.ui.pages.run_page import run_page
from nona.ui.pages.training import TRAINING, start_screen
from nona.ui.pages.training_elastic import elastic_page
from nona.ui.session.workspace import current
from studies.tabs import with_claims

state = current()
spec = state.scenario.training
if spec is None:
    start_screen(state)
elif spec.elastic is not None:
    elastic_page(state, spec.elastic)
else:
    run_page(state, with_claims(TRAINING))
