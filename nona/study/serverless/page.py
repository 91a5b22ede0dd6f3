"""``python -m nona.study.serverless.page docs/serverless.md docs/tour.md``: put stored results into pages.

The tour gets the sentence on use, other pages the figures.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from nona.report.studies.serverless_text import with_sentence, with_study
from nona.study.shipped import shipped_serverless


def main(arguments: Sequence[str]) -> None:
    """Rewrite each file named, between its marks."""
    for name in arguments:
        path = Path(name)
        put = with_sentence if path.stem == "tour" else with_study
        path.write_text(put(path.read_text("utf-8"), shipped_serverless()), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
