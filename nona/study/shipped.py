"""Results of studies that ship with the program, and when a result was made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nona.report.text import plain
from nona.results.document import Document

if TYPE_CHECKING:  # each is imported with its study: together they take a quarter of a second
    from nona.results.elastic import ElasticLinkStudy, ElasticStudy
    from nona.results.serverless_study import ServerlessStudy
    from nona.results.simulation_charts import Story
    from nona.results.studies import (
        DecisionStudy,
        EstimatorStudy,
        NetworkViewsStudy,
        PaperStudy,
        PredictionMap,
        TrainingStudy,
    )


def now_text() -> str:
    """Date and time of day in UTC, to the minute, as exports state it."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


DIGITS = 8
D = TypeVar("D", bound=Document)


def shipped_path(study: str) -> Path:
    """Return the path of a study's result, by its name; the file may be missing."""
    return Path(__file__).parent / "data" / f"{study}.json"


@cache
def shipped(study: str) -> dict[str, Any]:
    """The file of a study as plain data; not to be changed.

    >>> shipped("paper")["command"].split()[:3]
    ['nona', 'study', 'paper']
    """
    content: dict[str, Any] = json.loads(shipped_path(study).read_text(encoding="utf-8"))
    return content


@cache
def shipped_decisions() -> DecisionStudy:
    """The study of decisions with its provenance (command, version, date, seed).

    >>> len(shipped_decisions().cells) > 300
    True
    """
    from nona.results.studies import DecisionStudy

    return _read("decisions", DecisionStudy)


@cache
def shipped_map() -> PredictionMap:
    """The map of prediction against simulation.

    >>> shipped_map().about.command.split()[:3]
    ['nona', 'study', 'prediction']
    """
    from nona.results.studies import PredictionMap

    return _read("prediction_map", PredictionMap)


@cache
def shipped_paper() -> PaperStudy:
    """The paper's evaluation.

    >>> shipped_paper().claim
    350.0
    """
    from nona.results.studies import PaperStudy

    return _read("paper", PaperStudy)


@cache
def shipped_network_views() -> NetworkViewsStudy:
    """Every scheduler on an idle and on a loaded link.

    >>> shipped_network_views().about.command.split()[:3]
    ['nona', 'study', 'network-views']
    """
    from nona.results.studies import NetworkViewsStudy

    return _read("network_views", NetworkViewsStudy)


@cache
def shipped_serverless() -> ServerlessStudy:
    """The serverless policies against the slides.

    >>> shipped_serverless().command.split()[:3]
    ['nona', 'study', 'serverless']
    """
    from nona.results.serverless_study import ServerlessStudy

    return _read("serverless", ServerlessStudy)


@cache
def shipped_estimator() -> EstimatorStudy:
    """The throughput estimator's error.

    >>> shipped_estimator().about.command.split()[:3]
    ['nona', 'study', 'estimator']
    """
    from nona.results.studies import EstimatorStudy

    return _read("estimator", EstimatorStudy)


@cache
def shipped_training() -> TrainingStudy:
    """The training policies over load and all at once.

    >>> shipped_training().command.split()[:3]
    ['nona', 'study', 'training']
    """
    from nona.results.studies import TrainingStudy

    return _read("training", TrainingStudy)


@cache
def shipped_elastic() -> ElasticStudy:
    """Policies for elastic jobs over load and over interference.

    >>> shipped_elastic().command.split()[:3]
    ['nona', 'study', 'elastic']
    """
    from nona.results.elastic import ElasticStudy

    return _read("elastic", ElasticStudy)


@cache
def shipped_elastic_link() -> ElasticLinkStudy:
    """Policies for elastic jobs with and without a link that others use too.

    >>> shipped_elastic_link().command.split()[:3]
    ['nona', 'study', 'elastic-link']
    """
    from nona.results.elastic import ElasticLinkStudy

    return _read("elastic_link", ElasticLinkStudy)


@cache
def shipped_story() -> Story:
    """The Overview's network story.

    >>> shipped_story().command.split()[:3]
    ['python', '-m', 'nona.study.link_load']
    """
    from nona.results.simulation_charts import Story

    return _read("network_story", Story)


def _read(study: str, kind: type[D]) -> D:
    return kind.from_json(json.loads(shipped_path(study).read_text(encoding="utf-8")))


def rounded_result(found: D, digits: int = DIGITS) -> D:
    """A result with its floats rounded as :func:`rounded` does it."""
    return type(found).from_json(rounded(found.to_json(), digits))


def rounded(value: Any, digits: int = DIGITS) -> Any:
    """Plain data with floats rounded to a number of significant digits, for files.

    >>> rounded({"a": [1 / 3, 2, None, float("inf")]}, 3)
    {'a': [0.333, 2, None, None]}
    """
    if isinstance(value, Mapping):
        return {str(k): rounded(v, digits) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(v, digits) for v in value]
    if isinstance(value, float):
        kept = plain(value)
        return kept if kept is None else float(f"{kept:.{digits}g}")
    return value
