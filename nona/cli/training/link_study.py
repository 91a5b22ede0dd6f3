"""``nona study elastic-link``: what not seeing the link costs elastic jobs."""

from __future__ import annotations

from nona.cli.output import emit
from nona.cli.progress import ProgressLine
from nona.cli.training.options import ElasticLinkOptions
from nona.report.training.elastic.link_text import link_study_text
from nona.results.training.elastic_link import ElasticLinkStudy
from nona.study.elastic_link.run import ElasticLinkSettings, elastic_link_study
from nona.study.shipped import shipped_elastic_link


def elastic_link(arguments: ElasticLinkOptions) -> None:
    """Compare policies for elastic jobs without a link and on links that others use too."""
    data = shipped_elastic_link() if arguments.shipped else _run(arguments)
    emit(arguments, data, link_study_text)


def _run(arguments: ElasticLinkOptions) -> ElasticLinkStudy:
    usual, line = ElasticLinkSettings(), ProgressLine()
    settings = ElasticLinkSettings(
        workloads=arguments.workload or usual.workloads,
        capacities=arguments.capacity or usual.capacities,
        background=arguments.background,
        policies=arguments.policy,
        generations=arguments.generations,
        replications=arguments.replications,
        seed=arguments.seed,
    )

    def told(share: float, text: str) -> None:
        line.tell(text, share)

    found = elastic_link_study(settings, workers=arguments.workers, on_progress=told)
    line.end()
    return found
