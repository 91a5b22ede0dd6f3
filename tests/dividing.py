"""A plugin of pytest: the suite is divided among processes by file; the browser's tests make two groups.

A group is run by one process and has one server and one browser. Its tests wait more than they work, so that
two groups and the rest of the suite fill two cores; more browsers wait for each other. The groups come first.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import pytest

BROWSER = "tests/browser"
# Files of the second group, about half of the browser's time; all others are in the first.
SECOND = {
    "test_cluster_editor",
    "test_dag_view",
    "test_files",
    "test_journey",
    "test_links_and_sessions",
    "test_one_run",
    "test_serverless",
    "test_slices_in_time",
    "test_surround",
}


def group(file: str) -> str:
    """The group of a file's tests: the file itself, or one of the two groups of the browser's."""
    if not file.startswith(BROWSER):
        return file
    return f"{BROWSER} {2 if PurePosixPath(file).stem in SECOND else 1}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """By file, as ``--dist loadfile``, but for the browser's; other ways of dividing stay as they are."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(str(super()._split_scope(nodeid)))

    return Scheduling(config, log)
