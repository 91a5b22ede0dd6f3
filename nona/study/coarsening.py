"""The coarsening of a prepared model for a link."""

from __future__ import annotations

import numpy as np

from nona.placement.coarsening.steps import coarsen_tasks
from nona.placement.spans.messages import Link
from nona.report.inputs.coarsening import Glued, glued
from nona.study.preparation import PreparedModel


def glued_model(model: PreparedModel, link: Link, *, share: float = 0.0, executor_class: int = 0) -> Glued:
    """Which tasks of ``model`` stay together on its executor class number ``executor_class``."""
    weights = np.zeros(len(model.tasks.compute_s))
    weights[executor_class] = 1.0
    found = coarsen_tasks(model.tasks, model.decomposition, link, weights, share=share)
    compute_s = model.tasks.compute_s[executor_class].tolist()
    device = model.costed[executor_class].device
    return glued(model.contracted, model.decomposition, found, compute_s, link, share, device)
