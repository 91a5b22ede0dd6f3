"""The Training page of a scenario with elastic jobs."""

from __future__ import annotations

from nona.scenario.training_elastic import ElasticSpec
from nona.ui.pages.training.elastic.form import elastic_controls
from nona.ui.pages.training.elastic.run_area import elastic_area
from nona.ui.pages.training.elastic.tabs import elastic_tabs
from nona.ui.session.state import AppState
from nona.ui.widgets.guide_link import guide_link


def elastic_page(state: AppState, spec: ElasticSpec) -> None:
    """Settings, the run, its results."""
    elastic_controls(state, spec)
    elastic_tabs(state, elastic_area(state))
    guide_link("training-elastic", "What is simulated here, and what is assumed")
