"""``python -m studies.pages docs/decisions.md docs/serverless.md docs/tour.md``: stored results into pages.

Of the serverless study the tour gets the sentence on use, other pages the figures.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from nona.report.studies.decisions_text import with_results
from nona.report.studies.serverless_text import with_sentence, with_study
from nona.results.serverless_study import ServerlessStudy
from nona.results.studies import DecisionStudy
from nona.study.shipped import stored_result


def main(arguments: Sequence[str]) -> None:
    """Rewrite each file named, between its marks."""
    for name in arguments:
        path = Path(name)
        text = path.read_text("utf-8")
        if path.stem == "decisions":
            text = with_results(text, stored_result(DecisionStudy))
        else:
            text = (with_sentence if path.stem == "tour" else with_study)(
                text, stored_result(ServerlessStudy)
            )
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
