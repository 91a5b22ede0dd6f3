"""``nona training COMMAND``: training clusters of several types of GPU."""

from __future__ import annotations

from pathlib import Path

import click

from nona.cli import known
from nona.cli.declared import (
    COUNT,
    FILE,
    HTML,
    JSON,
    SCENARIO,
    SEED,
    SETTINGS,
    WORKERS,
    argument,
    command,
    group,
    made_by,
    option,
    setting,
)
from nona.cli.parameters import DECIMAL, Quantity, ShareParameter, WholeNumber
from nona.core.options import Option


@command("allocate", "shares of time for the jobs of a file, under one policy", "nona.cli.training:allocate")
class AllocateOptions:
    """``nona training allocate``."""

    file: Path = argument(FILE)
    policy: str = option(
        "policy of kind `allocate`, see `nona schedulers`", known.TRAINING_POLICY, required=True, metavar="P"
    )
    space_sharing: bool = option("two jobs may run on the same GPUs (needs pairs in FILE)")
    json: bool = JSON


@command(
    "generate", "draw jobs as Gavel's generator does; write them as a trace", "nona.cli.training:generate"
)
class GenerateOptions:
    """``nona training generate``."""

    jobs: int = setting("training.generate.jobs", WholeNumber(min=1, max=100000), default=120)
    mean_gap: float = setting("training.generate.mean_gap", Quantity("time"), default=600.0, metavar="S")
    multi_gpu: bool = setting("training.generate.multi_gpu")
    weights: bool = setting("training.generate.weights")
    slos: bool = setting("training.generate.slos")
    seed: int = setting("seed", WholeNumber(), default=0)


@command(
    "checkpoints",
    "intervals between checkpoints: Young's, Daly's and the best by simulation",
    "nona.cli.training:checkpoints",
    opens=True,
)
class CheckpointOptions:
    """``nona training checkpoints``."""

    scenario: str = SCENARIO
    json: bool = JSON


@command(
    "switches",
    "what wrong claims, moves, failures and regions cost, one at a time",
    "nona.cli.training:switches",
    opens=True,
)
class SwitchesOptions(CheckpointOptions):
    """``nona training switches``."""

    policy: tuple[str, ...] = option(
        "overrides the scenario's policies, see `nona schedulers`; repeat for several",
        known.TRAINING_POLICY,
        metavar="P",
    )
    replications: int | None = option("independent runs", COUNT)
    seed: int | None = SEED
    workers: int = WORKERS


@command(
    "simulate",
    "simulate long jobs on a training cluster, round by round",
    "nona.cli.training:simulate",
    opens=True,
)
class SimulateTrainingOptions(SwitchesOptions):
    """``nona training simulate``."""

    no_ideal: bool = option("leave out the fluid bound, which asks policies more often")
    html: Path | None = HTML


@command(
    "elastic",
    "elastic jobs, whose GPUs and batch sizes change: Pollux, Optimus, Tiresias and others",
    "nona.cli.training:elastic",
)
class ElasticOptions:
    """``nona training elastic``."""

    scenario: str | None = argument(known.SCENARIO)
    workload: str | None = setting("training.elastic.workload", metavar="N|FILE")
    profiles: Path | None = option(
        "applications.csv, placements.csv, scalability.csv and epochs.csv of your own applications",
        FILE,
        metavar="FOLDER",
    )
    policy: tuple[str, ...] = option(
        "repeat for several (default pollux, optimus, tiresias)", known.ELASTIC_POLICY, metavar="P"
    )
    nodes: int | None = option("nodes (default 16)", WholeNumber(min=1, max=1024))
    gpus: int | None = option("GPUs of each node (default 4)", WholeNumber(min=1, max=9))
    tick: int | None = setting("training.elastic.tick", WholeNumber(min=1), metavar="SECONDS")
    restart: int | None = setting("training.elastic.restart", WholeNumber(min=0), metavar="SECONDS")
    load: float | None = setting("training.elastic.load", DECIMAL)
    interference: float | None = setting("training.elastic.interference", ShareParameter())
    background: float | None = option(
        "jobs on several nodes exchange gradients over a link; other traffic uses this share of it",
        DECIMAL,
        metavar="U",
    )
    capacity: float | None = option(
        "of that link (default '10 Gbit/s')", Quantity("bandwidth"), metavar="RATE"
    )
    discipline: str | None = option(
        "of that link (default fifo)", click.Choice(["fifo", "processor-sharing"])
    )
    settings: tuple[tuple[str, str, Option], ...] = SETTINGS
    share_nodes: bool = option("pollux may let jobs on several nodes share a node")
    replications: int | None = option("runs of policies that draw random numbers (default 1)", COUNT)
    seed: int | None = option("of their random numbers (default 0)", WholeNumber())
    workers: int = WORKERS
    html: Path | None = HTML
    json: bool = JSON


training = group("training", "training clusters: allocate GPUs of several types to long jobs")
for _kind in (
    AllocateOptions,
    SimulateTrainingOptions,
    ElasticOptions,
    GenerateOptions,
    SwitchesOptions,
    CheckpointOptions,
):
    training.add_command(made_by(_kind))
