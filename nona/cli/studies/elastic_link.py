"""``nona study elastic-link``: what not seeing the link costs elastic jobs."""

from __future__ import annotations

from nona.cli.output import emit
from nona.cli.studies.study import data_of, tell
from nona.cli.training.options import ElasticLinkOptions
from nona.report.training.elastic.link_text import link_study_text
from nona.results.training.elastic_link import ElasticLinkStudy
from nona.study.elastic_link.run import ElasticLinkSettings, elastic_link_study
from nona.study.shipped import shipped_elastic_link


def elastic_link(arguments: ElasticLinkOptions) -> None:
    """Compare policies for elastic jobs without a link and on links that others use too."""
    emit(arguments, data_of(arguments, shipped_elastic_link, _run), link_study_text)


def _run(arguments: ElasticLinkOptions) -> ElasticLinkStudy:
    usual = ElasticLinkSettings()
    settings = ElasticLinkSettings(
        workloads=arguments.workload or usual.workloads,
        capacities=arguments.capacity or usual.capacities,
        background=arguments.background,
        policies=arguments.policy,
        generations=arguments.generations,
        replications=arguments.replications,
        seed=arguments.seed,
    )
    return elastic_link_study(settings, workers=arguments.workers, on_progress=tell)
