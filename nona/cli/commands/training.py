"""``nona training COMMAND``: training clusters of several types of GPU."""

from __future__ import annotations

import click

from nona.cli.commands import group as common
from nona.cli.commands.group import SETTINGS, Commands, command, takes
from nona.cli.known import ELASTIC_POLICY, SCENARIO, SCHEDULE, TRAINING_POLICY
from nona.cli.options import (
    AllocateOptions,
    CheckpointOptions,
    CountedOptions,
    ElasticOptions,
    GenerateOptions,
    SimulateTrainingOptions,
    SwitchesOptions,
)
from nona.cli.parameters import Decimal, Quantity, Share, Whole

SUMMARY = "training clusters: allocate GPUs of several types to long jobs"


@click.group(
    "training",
    Commands,
    help=SUMMARY,
    short_help=SUMMARY,
    no_args_is_help=False,
    subcommand_metavar="COMMAND [OPTIONS]...",
    context_settings=SETTINGS,
)
def training() -> None:
    """The commands for training clusters."""


@command("allocate", "shares of time for the jobs of a file, under one policy")
@click.argument("file", type=common.FILE)
@click.option(
    "--policy",
    type=TRAINING_POLICY,
    required=True,
    metavar="P",
    help="policy of kind `allocate`, see `nona schedulers`",
)
@click.option("--space-sharing", is_flag=True, help="two jobs may run on the same GPUs (needs pairs in FILE)")
@common.json
@takes(AllocateOptions)
def allocate(options: AllocateOptions) -> None:
    """One answer of a policy."""
    from nona.cli import training as work

    work.allocate(options)


@command("generate", "draw jobs as Gavel's generator does; write them as a trace")
@click.option("--jobs", type=Whole(min=1, max=100_000), default=120, help="how many (default 120)")
@click.option(
    "--mean-gap",
    type=Quantity("time"),
    default=600.0,
    metavar="S",
    help="mean time between arrivals, e.g. 600 or '10 min' (default 10 min); 0: all at the start",
)
@click.option("--multi-gpu", is_flag=True, help="30 % of the jobs take 2, 4 or 8 GPUs")
@click.option("--weights", is_flag=True, help="a fifth of the jobs has weight 5")
@click.option("--slos", is_flag=True, help="deadlines of 1.2, 2 and 10 times the duration on a V100")
@click.option("--seed", type=Whole(), default=0, help="equal seeds give equal jobs (default 0)")
@takes(GenerateOptions)
def generate(options: GenerateOptions) -> None:
    """A trace on standard output."""
    from nona.cli import training as work

    work.generate(options)


@command("simulate", "simulate long jobs on a training cluster, round by round")
@common.scenario
@click.option(
    "--policy",
    type=TRAINING_POLICY,
    multiple=True,
    metavar="P",
    help="overrides the scenario's policies, see `nona schedulers`; repeat for several",
)
@click.option("--replications", type=common.COUNT, help="independent runs")
@common.seed
@common.workers
@click.option("--no-ideal", is_flag=True, help="leave out the fluid bound, which asks policies more often")
@common.html
@common.json
@takes(SimulateTrainingOptions)
def simulate(options: SimulateTrainingOptions) -> None:
    """Simulate a training scenario."""
    from nona.cli import training as work
    from nona.cli.opened import opened

    work.simulate(options, *opened(options.scenario))


@command("switches", "what wrong claims, moves, failures and regions cost, one at a time")
@common.scenario
@click.option(
    "--policy",
    type=TRAINING_POLICY,
    multiple=True,
    metavar="P",
    help="overrides the scenario's policies, see `nona schedulers`; repeat for several",
)
@click.option("--replications", type=common.COUNT, help="independent runs")
@common.seed
@common.workers
@common.json
@takes(SwitchesOptions)
def switches(options: SwitchesOptions) -> None:
    """Runs with one switch at a time beside runs with none."""
    from nona.cli import training as work
    from nona.cli.opened import opened

    work.switches(options, *opened(options.scenario))


@command("checkpoints", "intervals between checkpoints: Young's, Daly's and the best by simulation")
@common.scenario
@common.json
@takes(CheckpointOptions)
def checkpoints(options: CheckpointOptions) -> None:
    """Checkpoint intervals for the jobs of a scenario."""
    from nona.cli import training as work
    from nona.cli.opened import opened

    work.checkpoints(options, *opened(options.scenario))


@command("elastic", "elastic jobs, whose GPUs and batch sizes change: Pollux, Optimus, Tiresias and others")
@click.argument("scenario", type=SCENARIO, required=False)
@click.option(
    "--workload",
    metavar="N|FILE",
    help="1 (default) to 4, as measured for Pollux; or CSV: name, arrival_s, application, gpus, batch_size",
)
@click.option(
    "--profiles",
    type=common.FILE,
    metavar="FOLDER",
    help="applications.csv, placements.csv, scalability.csv and epochs.csv of your own applications",
)
@click.option(
    "--policy",
    type=ELASTIC_POLICY,
    multiple=True,
    metavar="P",
    help="repeat for several (default pollux, optimus, tiresias)",
)
@click.option("--nodes", type=Whole(min=1, max=1024), help="nodes (default 16)")
@click.option("--gpus", type=Whole(min=1, max=9), help="GPUs of each node (default 4)")
@click.option(
    "--tick", type=Whole(min=1), metavar="S", help="how often policies are asked, in seconds (default 60)"
)
@click.option("--restart", type=Whole(min=0), metavar="S", help="pause when a job's GPUs change (default 30)")
@click.option(
    "--load",
    type=Decimal(),
    help="how many times the jobs of a shipped workload; 0.5: every second one (default 1)",
)
@click.option(
    "--interference",
    type=Share(),
    help="part of its speed that a job on several nodes loses if it shares a node with another such job",
)
@click.option(
    "--background",
    type=Decimal(),
    metavar="U",
    help="jobs on several nodes exchange gradients over a link, of which others use this part",
)
@click.option(
    "--capacity",
    type=Quantity("bandwidth"),
    metavar="RATE",
    help="of that link (default '10 Gbit/s')",
)
@click.option(
    "--discipline",
    type=click.Choice(["fifo", "processor-sharing"]),
    help="of that link (default fifo)",
)
@common.settings
@click.option("--share-nodes", is_flag=True, help="pollux may let jobs on several nodes share a node")
@click.option(
    "--replications", type=common.COUNT, help="runs of policies that draw random numbers (default 1)"
)
@click.option("--seed", type=Whole(), help="of their random numbers (default 0)")
@common.workers
@common.html
@common.json
@takes(ElasticOptions)
def elastic(options: ElasticOptions) -> None:
    """Simulate the elastic jobs of SCENARIO, or those that options name; options come first."""
    from nona.cli import training as work

    work.elastic(options)


@command("counted", "jobs that keep their GPUs, which are only counted: Tiresias' own simulator")
@click.option(
    "--workload",
    default="tiresias",
    metavar="tiresias|FILE",
    help="its 60 jobs (default), or CSV: name, arrival_s, gpus, duration_s",
)
@click.option(
    "--schedule", type=SCHEDULE, multiple=True, metavar="S", help="only this one; repeat for several"
)
@click.option("--gpus", type=Whole(min=1, max=100_000), default=8, help="GPUs (default 8)")
@common.settings
@common.json
@takes(CountedOptions)
def counted(options: CountedOptions) -> None:
    """Simulate jobs of fixed GPUs and durations."""
    from nona.cli import training as work

    work.counted(options)


COMMANDS = (allocate, simulate, elastic, counted, generate, switches, checkpoints)
for _command in COMMANDS:
    training.add_command(_command)
