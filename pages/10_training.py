"""Training: long jobs on GPUs of several types; who gets which GPU, for how long, and what it costs."""

from nona.ui.pages.training.form.controls import controls
from nona.ui.pages.training.run_area import run_area
from nona.ui.pages.training.start import start_screen
from nona.ui.pages.training.tabs import training_tabs
from nona.ui.session.workspace import current
from nona.ui.widgets.guide_link import guide_link

state = current()
if state.scenario.training is None:
    start_screen(state)
else:
    controls(state)
    data = run_area(state)
    training_tabs(state, data)
    guide_link("training", "What is simulated here, and what is assumed")
