"""``nona train-decima``: train the learned schedulers again, or on other numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nona.cli.commands import common
from nona.cli.commands.group import Usual, command, takes
from nona.cli.options import TrainDecimaOptions
from nona.cli.parameters import Whole

if TYPE_CHECKING:  # it takes most of the program along
    from nona.learning.train import TrainSettings


def _usual() -> TrainSettings:
    from nona.learning.train import TrainSettings

    return TrainSettings()


@command("train-decima", "train the learned scheduler decima-link or decima-blind; write its weights")
@click.option(
    "-o", "--output", type=common.OUTPUT, required=True, metavar="FILE", help="file to write, e.g. mine.json"
)
@click.option("--hide-link", is_flag=True, help="decima-blind: the load of the link is not in sight")
@click.option(
    "--iterations",
    cls=Usual,
    type=Whole(min=1, max=100_000),
    default=lambda: _usual().iterations,
    help="systems that are drawn, one step each",
)
@click.option(
    "--rollouts",
    cls=Usual,
    type=Whole(min=2, max=64),
    default=lambda: _usual().rollouts,
    help="runs of each system, with the same arrivals",
)
@click.option(
    "--jobs", cls=Usual, type=Whole(min=10, max=10_000), default=lambda: _usual().jobs, help="jobs of a run"
)
@click.option(
    "--seed", cls=Usual, type=Whole(), default=lambda: _usual().seed, help="equal seeds give equal weights"
)
@takes(TrainDecimaOptions)
def train_decima(options: TrainDecimaOptions) -> None:
    """Train a learned scheduler, with the progress on the terminal, and write its weights."""
    from nona.cli.progress import ProgressLine
    from nona.learning.train import TrainSettings, trained_file
    from nona.study.exports import check_places, write_text

    check_places(options.output)
    settings = TrainSettings(
        sees_link=not options.hide_link,
        iterations=options.iterations,
        rollouts=options.rollouts,
        jobs=options.jobs,
        seed=options.seed,
    )
    line = ProgressLine()

    def told(number: int, jct: float) -> None:
        line.tell(f"mean JCT {jct:.2f} times a query's work", number / settings.iterations)

    found = trained_file(settings, told)
    line.end()
    write_text(options.output, found.to_text())
    first, last = found.card.curve[0], found.card.curve[-1]
    print(
        f"{options.output}: {len(found.weights)} weights; mean JCT over a query's work {first:.2f} in the "
        f"first part of the training, {last:.2f} in the last"
    )
