"""The commands on what runs and what is deployed: import, export."""

from __future__ import annotations

from pathlib import Path

from nona.cli.declared import FILE, JSON, argument, command, option
from nona.cli.parameters import ASSIGNED


@command(
    "import",
    "read a scenario from what you run: Triton repositories, nodes, vLLM commands, metrics, load tests",
    "nona.cli.deployment:import_paths",
)
class ImportOptions:
    """``nona import``."""

    paths: tuple[Path, ...] = argument(FILE, nargs=-1, required=True, metavar="PATH...")
    output: Path | None = option(
        "write the scenario here, its models beside it; what is asked stands there as 'asked: KEY'",
        FILE,
        metavar="FILE",
        flags=("-o", "--output"),
    )
    answers: tuple[tuple[str, str], ...] = option(
        "answer what is asked, e.g. pipeline.rate=100/s; repeat for several",
        ASSIGNED,
        flags=("--set",),
        metavar="KEY=VALUE",
    )
    force: bool = option("overwrite files that exist")
    json: bool = JSON
