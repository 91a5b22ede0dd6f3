"""What every test leaves as it found it."""

import os
import sys

import pytest
import sizes  # noqa: F401  (loads hypothesis' profile)

collect_ignore_glob = ["*conftest.py"]  # no doctests there, and several modules have this name
# Tests wait for jobs beside other tests, which do not give way to anybody.
os.environ.setdefault("NONA_WORKER_NICE", "0")
MAIN = sys.modules["__main__"]  # as it was before any page was run


@pytest.fixture(autouse=True)
def main_module():
    """Streamlit's runner makes a page the main module, which processes started later would run again."""
    yield
    sys.modules["__main__"] = MAIN
