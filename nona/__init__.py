"""Nona Planner: should ML inference queries be split over a shared GPU cluster, and how?"""

from pathlib import Path

__version__ = "0.1.0"


def import_root() -> Path:
    """The folder that holds the package: where child processes find it."""
    return Path(__file__).resolve().parent.parent


def app_root() -> Path:
    """The folder of ``app.py``, ``pages`` and ``sample_models``: the checkout, or inside the wheel."""
    package = Path(__file__).resolve().parent
    return package.parent if (package.parent / "app.py").is_file() else package / "_app"
