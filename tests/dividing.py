"""A plugin of pytest: the suite is divided among processes by file, and one of them has the browser's tests.

They wait more than they work, and share one server; several browsers at once wait for each other.
"""

from __future__ import annotations

from typing import Any

import pytest

BROWSER = "tests/browser"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """By file, as ``--dist loadfile``; other ways of dividing stay as they are."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return BROWSER if nodeid.startswith(BROWSER) else super()._split_scope(nodeid)

    return Scheduling(config, log)
