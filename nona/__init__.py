"""Nona Planner: should ML inference queries be split over a shared GPU cluster, and how?"""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it, whose import takes a while in which nobody hears a signal
if TYPE_CHECKING:
    from pathlib import Path

__version__ = "0.1.0"


def import_root() -> Path:
    """The folder that holds the package: where child processes find it."""
    from pathlib import Path

    return Path(__file__).resolve().parent.parent


def app_root() -> Path:
    """The folder of ``app.py``, ``pages`` and ``sample_models``: the checkout, or inside the wheel."""
    from pathlib import Path

    package = Path(__file__).resolve().parent
    return package.parent if (package.parent / "app.py").is_file() else package / "_app"
