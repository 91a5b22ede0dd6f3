"""The page of the documentation on validation; run with its path to write it.

``python -m nona.report.studies.validation_page docs/validation.md`` predicts every published latency,
simulates every known system on the compiled engine, and writes the page.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from nona.cost.validation import validation_markdown, validation_report
from nona.report.studies.validation import theory_markdown
from nona.simulation.agreement import Effort
from nona.simulation.known_systems import KNOWN, LOADS, known_result

#: What the page is made with.
EFFORT = Effort(engine="compiled")


def validation_page(effort: Effort = EFFORT) -> str:
    """The page, in Markdown: modelled times first, then the simulator.

    Raises
    ------
    SimulationError
        When the effort's engine is not known.
    """
    comparisons = [known_result(name, load, effort) for name in KNOWN for load in LOADS]
    return validation_markdown(validation_report()) + "\n" + theory_markdown(comparisons, effort)


def main(arguments: Sequence[str]) -> None:
    """Write the page to the file named, else to standard output."""
    text = validation_page()
    if arguments:
        Path(arguments[0]).write_text(text, "utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main(sys.argv[1:])
