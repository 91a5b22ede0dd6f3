"""The commands on what runs and what is deployed: import, export."""

from __future__ import annotations

from pathlib import Path

from nona.cli import known
from nona.cli.declared import FILE, JSON, SCENARIO, argument, command, option
from nona.cli.parameters import ASSIGNED, WholeNumber


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


@command(
    "export",
    "write a scenario, or an option of its plan, as files of Triton, Kubernetes, GPU sharing, alerts",
    "nona.cli.deployment:export_files",
    opens=True,
)
class ExportOptions:
    """``nona export``."""

    scenario: str = SCENARIO
    form: str = option("what to write", known.FORM, flags=("--as",), required=True)
    output: Path = option(
        "folder to write into", FILE, required=True, metavar="DIR", flags=("-o", "--output")
    )
    plan_option: int | None = option(
        "option of the plan, counted from 1 in the order of its options (default: the cluster as it is)",
        WholeNumber(min=1),
        flags=("--option",),
    )
    anyway: bool = option("write it whatever the verdict; without it only what keeps its targets is written")
    force: bool = option("overwrite files that exist")
