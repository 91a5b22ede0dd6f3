"""Training: long jobs on GPUs of several types; who gets which GPU, for how long, and what it costs."""

from nona.ui.session.workspace import current

state = current()
