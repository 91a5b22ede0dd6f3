"""``python -m nona.study.decisions_page docs/decisions.md``: stored results into the page."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from nona.report.studies.decisions_text import with_results
from nona.study.shipped import shipped_decisions


def main(arguments: Sequence[str]) -> None:
    """Rewrite each file named, between its marks."""
    for name in arguments:
        path = Path(name)
        path.write_text(with_results(path.read_text("utf-8"), shipped_decisions()), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
