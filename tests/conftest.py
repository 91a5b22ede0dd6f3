"""What every test leaves as it found it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

collect_ignore = ["conftest.py"]  # no doctests here, and there is a second module of this name
MAIN = sys.modules["__main__"]  # as it was before any page was run


@pytest.fixture(autouse=True)
def main_module() -> Iterator[None]:
    """Streamlit's runner makes a page the main module, which processes started later would run again."""
    yield
    sys.modules["__main__"] = MAIN
