"""A scenario, or an option of its plan, as files of those who deploy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from nona.core.errors import DeploymentError
from nona.core.foreign import Archive
from nona.deployment.write_alerts import alert_files
from nona.deployment.write_gpus import gpu_files
from nona.deployment.write_kubernetes import kubernetes_files, unwritten
from nona.deployment.write_triton import triton_files
from nona.deployment.writing import Standing
from nona.scenario.schema import Scenario

_ARCHIVE = Archive(lambda why, remedy: DeploymentError(f"Archive: {why}; {remedy}."), "", 0, folders=True)


def archive_of(files: Mapping[str, str]) -> bytes:
    """Return files as one ZIP archive."""
    return _ARCHIVE.write({name: text.encode() for name, text in files.items()})


FORMS: Mapping[str, Callable[[Standing], dict[str, str]]] = MappingProxyType(
    {
        "triton": triton_files,
        "kubernetes": kubernetes_files,
        "gpus": gpu_files,
        "alerts": alert_files,
    }
)
"""Name of a form → what writes its files."""


def unwritten_of(scenario: Scenario, form: str) -> list[str]:
    """Return a line for each setting that the files of a form leave out."""
    return unwritten(scenario) if form == "kubernetes" else []


def files_of(standing: Standing, form: str) -> dict[str, str]:
    """Return the files of a form by name.

    Raises ``DeploymentError`` for what the form cannot say.
    """
    scenario = standing.scenario
    if not (scenario.workload or scenario.language):
        raise DeploymentError(
            f"Scenario {scenario.name!r}: it has no queries or requests; add a row to its workload."
        )
    if scenario.serverless is not None:
        raise DeploymentError(
            f"Scenario {scenario.name!r}: its part serverless sizes functions, for which no form is written; "
            "remove that part."
        )
    if form == "triton" and not scenario.workload:
        raise DeploymentError(
            "workload: language models are served by engines, not by Triton; use --as kubernetes."
        )
    return FORMS[form](standing)
