"""``nona study NAME``: the studies that ship with the program, each one command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nona.cli.commands import common
from nona.cli.commands.group import SETTINGS, Commands, Usual, command, takes
from nona.cli.commands.training_studies import TRAINING
from nona.cli.known import ENGINE, MAPPED, NETWORK
from nona.cli.options import (
    DecisionOptions,
    MapOptions,
    NetworkViewOptions,
    PaperOptions,
    ServerlessStudyOptions,
)
from nona.cli.parameters import Decimal, Whole

if TYPE_CHECKING:  # these take most of the program along
    from nona.study.decisions import DecisionSettings
    from nona.study.network_views.run import NetworkViewSettings
    from nona.study.paper import PaperSettings
    from nona.study.prediction_map import MapSettings
    from nona.study.serverless.study import StudySettings

SUMMARY = "run or show a shipped study, e.g. the paper's evaluation"


@click.group(
    "study",
    Commands,
    help=SUMMARY,
    short_help=SUMMARY,
    no_args_is_help=False,
    subcommand_metavar="STUDY [OPTIONS]...",
    context_settings=SETTINGS,
)
def study() -> None:
    """The shipped studies."""


def _paper() -> PaperSettings:
    from nona.study.paper import PaperSettings

    return PaperSettings()


def _map() -> MapSettings:
    from nona.study.prediction_map import MapSettings

    return MapSettings()


def _decisions() -> DecisionSettings:
    from nona.study.decisions import DecisionSettings

    return DecisionSettings()


def _network_views() -> NetworkViewSettings:
    from nona.study.network_views.run import NetworkViewSettings

    return NetworkViewSettings()


def _serverless() -> StudySettings:
    from nona.study.serverless.study import StudySettings

    return StudySettings()


@command("paper", "the paper's evaluation: 80 servers, five models, every scheduler to its edge of stability")
@click.option("--jobs", cls=Usual, type=Whole(), default=lambda: _paper().jobs, help="jobs measured per run")
@click.option(
    "--replications",
    cls=Usual,
    type=Whole(),
    default=lambda: _paper().replications,
    help="independent runs of each point",
)
@common.seed
@common.engine
@common.csv
@common.html
@common.workers
@common.shipped
@common.json
@takes(PaperOptions)
def paper(options: PaperOptions) -> None:
    """The paper's evaluation."""
    from nona.cli.studies import study as studies

    studies.paper(options)


@command("prediction", "the prediction against the simulation, over load, background, locality and models")
@click.option(
    "--tasks",
    cls=Usual,
    type=Whole(),
    default=lambda: _map().tasks,
    help="approximate number of tasks per run",
)
@click.option(
    "--replications",
    cls=Usual,
    type=Whole(),
    default=lambda: _map().replications,
    help="independent runs of each point",
)
@common.seed
@click.option(
    "--scenario", type=MAPPED, multiple=True, metavar="NAME", help="only this one; repeat for several"
)
@common.engine
@common.workers
@common.shipped
@common.json
@takes(MapOptions)
def prediction(options: MapOptions) -> None:
    """The map of the prediction."""
    from nona.cli.studies import study as studies

    studies.prediction(options)


@command(
    "decisions", "the placement simulated against the other schedulers: all samples and generated networks"
)
@click.option(
    "--network", type=NETWORK, multiple=True, metavar="NAME", help="only this one; repeat for several"
)
@click.option(
    "--link",
    type=Decimal(),
    multiple=True,
    metavar="GBIT",
    help="only this speed; repeat for several",
)
@click.option("--full", is_flag=True, help="all 48 combinations for each network, instead of 12")
@click.option("--jobs", type=Whole(), help="jobs measured per run, instead of a fixed number of events")
@click.option(
    "--replications",
    cls=Usual,
    type=Whole(),
    default=lambda: _decisions().replications,
    metavar="R",
    help="independent runs per round",
)
@click.option(
    "--most",
    cls=Usual,
    type=Whole(),
    default=lambda: _decisions().most,
    help="maximum of runs, where schedulers are close",
)
@click.option("--seed", cls=Usual, type=Whole(), default=lambda: _decisions().seed, help="seed of all runs")
@click.option("--engine", type=ENGINE, default="compiled", help="(default: compiled)")
@click.option("--csv", type=common.OUTPUT, metavar="FILE", help="also write one row per cell and scheduler")
@common.workers
@common.shipped
@common.json
@takes(DecisionOptions)
def decisions(options: DecisionOptions) -> None:
    """The placement against the other schedulers."""
    from nona.cli.studies import study as studies

    studies.decisions(options)


@command("network-views", "who sees the network: every scheduler on an idle and on a loaded link")
@click.option(
    "--jobs", cls=Usual, type=Whole(), default=lambda: _network_views().jobs, help="jobs measured per run"
)
@click.option(
    "--replications",
    cls=Usual,
    type=Whole(),
    default=lambda: _network_views().replications,
    help="independent runs of each scheduler on each link",
)
@click.option(
    "--seed", cls=Usual, type=Whole(), default=lambda: _network_views().seed, help="seed of all runs"
)
@common.scheduler
@common.engine
@common.csv
@common.workers
@common.shipped
@common.json
@takes(NetworkViewOptions)
def network_views(options: NetworkViewOptions) -> None:
    """Who sees the network."""
    from nona.cli.studies import study as studies

    studies.network_views(options)


@command(
    "serverless", "ESG and four other policies in the slides' three settings, and what the result depends on"
)
@click.option(
    "--calls", cls=Usual, type=Whole(), default=lambda: _serverless().calls, help="calls measured per run"
)
@click.option(
    "--replications",
    cls=Usual,
    type=Whole(),
    default=lambda: _serverless().replications,
    help="independent runs of each point",
)
@click.option(
    "--small",
    cls=Usual,
    type=Whole(),
    default=lambda: _serverless().small,
    help="calls per run of an alternative",
)
@click.option(
    "--few",
    cls=Usual,
    type=Whole(),
    default=lambda: _serverless().few,
    help="independent runs of each alternative",
)
@common.seed
@common.workers
@common.shipped
@common.json
@takes(ServerlessStudyOptions)
def serverless(options: ServerlessStudyOptions) -> None:
    """The study of serverless policies."""
    from nona.cli.studies import study as studies

    studies.serverless(options)


STUDIES = (paper, prediction, decisions, network_views, serverless, *TRAINING)
for _command in STUDIES:
    study.add_command(_command)
