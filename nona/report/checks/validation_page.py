"""The page of the documentation on validation.

``python -m nona.report.checks.validation_page docs/validation.md`` predicts every published latency,
simulates every known system on the compiled engine, and writes the page.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from nona.cost.validation.latencies import validation_report
from nona.cost.validation.text import validation_markdown
from nona.report.checks.theory import theory_markdown
from nona.simulation.known import KNOWN, LOADS, Effort, known_result

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
