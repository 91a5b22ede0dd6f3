"""``python -m evidence.pages docs/decisions.md docs/serverless.md docs/tour.md docs/validation.md``.

Writes stored results into pages of the documentation; the one on validation is made anew: every published
latency is predicted, every known system simulated. Of the serverless study the tour gets the sentence on use,
other pages the figures.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from evidence.agreement import Effort
from evidence.known_systems import KNOWN, LOADS, known_result
from evidence.policy_results import ServerlessStudy
from evidence.published_latencies import validation_report
from evidence.reports.decisions import presented
from evidence.reports.serverless import claim_text, study_page
from evidence.reports.validation import theory_markdown, validation_markdown
from evidence.results import DecisionStudy
from nona.core.tables import between_marks
from nona.queries.study.shipped import stored_result


def validation_page(effort: Effort) -> str:
    """Return the page on validation, in Markdown: modelled times first, then the simulator."""
    comparisons = [known_result(name, load, effort) for name in KNOWN for load in LOADS]
    return validation_markdown(validation_report()) + "\n" + theory_markdown(comparisons, effort)


def with_results(stem: str, page: str) -> str:
    """``page``, called ``stem``, with the results of its study between its two marks."""
    if stem == "decisions":
        return between_marks(page, presented(stored_result(DecisionStudy)).markdown())
    if stem == "tour":  # the one sentence on use, in the middle of a paragraph
        return between_marks(page, claim_text(stored_result(ServerlessStudy)), "")
    return between_marks(page, study_page(stored_result(ServerlessStudy)))


def main(arguments: Sequence[str]) -> None:
    """Rewrite each file named, between its marks."""
    for name in arguments:
        path = Path(name)
        if path.stem == "validation":
            path.write_text(validation_page(Effort(engine="compiled")), "utf-8")
        else:
            path.write_text(with_results(path.stem, path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
