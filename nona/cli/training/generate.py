"""``nona training generate``: a trace of drawn jobs."""

from __future__ import annotations

from nona.cli.training.options import GenerateOptions
from nona.errors import SimulationError
from nona.training.workload import generator
from nona.training.workload.table import shipped_throughputs
from nona.training.workload.trace import MOST_SECONDS, write_trace


def generate(arguments: GenerateOptions) -> None:
    """Draw jobs with Gavel's measured throughputs, and write them to standard output."""
    if not 0 <= arguments.mean_gap <= MOST_SECONDS / arguments.jobs:
        raise SimulationError(
            f"--mean-gap {arguments.mean_gap:g} must be from 0 to {MOST_SECONDS / arguments.jobs:g} s for "
            f"{arguments.jobs} jobs, so that a trace lasts at most {MOST_SECONDS:g} s; lower it."
        )
    what = generator.Generation(
        arguments.jobs, arguments.mean_gap, arguments.multi_gpu, arguments.weights, arguments.slos
    )
    print(write_trace(generator.generate(what, shipped_throughputs(), arguments.seed)), end="")
