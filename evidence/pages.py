"""``python -m evidence.pages docs/*.md evidence/notebook/*.md``: write what is computed into the documents.

Between marks stand results of stored studies, the picture of the rooms, the help of every command, and
sections of the app's guide. The notebook's page on validation is made anew: every published latency is
predicted, every known system simulated.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

import click

from evidence.agreement import Effort
from evidence.architecture import picture
from evidence.known_systems import KNOWN, LOADS, known_result
from evidence.policy_results import ServerlessStudy
from evidence.published_latencies import validation_report
from evidence.reports.decisions import presented
from evidence.reports.serverless import claim_text, study_page
from evidence.reports.validation import theory_markdown, validation_markdown
from evidence.results import DecisionStudy
from nona.cli.main import nona
from nona.core.tables import between_marks
from nona.queries.workflows.shipped import stored_result

_GUIDE = re.compile(r"(<!-- guide text ([\w-]+): begin -->\n).*?(<!-- guide text: end -->)", re.DOTALL)


def validation_page(effort: Effort) -> str:
    """Return the page on validation, in Markdown: modelled times first, then the simulator."""
    comparisons = [known_result(name, load, effort) for name in KNOWN for load in LOADS]
    return validation_markdown(validation_report()) + "\n" + theory_markdown(comparisons, effort)


def commands_text() -> str:
    """Return the help of every command, in Markdown."""
    return "\n\n".join(
        "\n".join([f"## {name}", "", "```text", *(line.rstrip() for line in text.splitlines()), "```"])
        for name, text in _helps(nona, "nona", None)
    )


def _helps(command: click.Command, name: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    settings = {**command.context_settings, "terminal_width": 100, "max_content_width": 100}
    context = click.Context(command, info_name=name, parent=parent, **settings)
    yield context.command_path, command.get_help(context)
    for below, one in getattr(command, "commands", {}).items():
        yield from _helps(one, below, context)


def with_guide_texts(page: str) -> str:
    """Return ``page`` with the named sections of the app's guide between their marks, one level lower.

    >>> page = "<!-- guide text 19-privacy: begin -->\\nold <!-- guide text: end -->"
    >>> with_guide_texts(page).splitlines()[2]
    '## Privacy'
    """
    folder = files("nona.app").joinpath("guide_text")

    def section(mark: re.Match[str]) -> str:
        text = folder.joinpath(f"{mark[2]}.md").read_text("utf-8").strip()
        return f"{mark[1]}\n{re.sub('^#', '##', text, flags=re.MULTILINE)}\n\n{mark[3]}"

    return _GUIDE.sub(section, page)


# Folder and name of a page → what stands between its marks.
MADE: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "docs/architecture": lambda page: between_marks(page, picture()),
        "docs/command-line": lambda page: between_marks(page, commands_text()),
        "docs/tour": lambda page: between_marks(page, claim_text(stored_result(ServerlessStudy)), ""),
        "notebook/decisions": lambda page: between_marks(
            page, presented(stored_result(DecisionStudy)).markdown()
        ),
        "notebook/serverless": lambda page: between_marks(page, study_page(stored_result(ServerlessStudy))),
        "notebook/validation": lambda _: validation_page(Effort(engine="compiled")),
    }
)


def remade(page: Path) -> str:
    """Return the text of ``page`` with everything in it that is computed computed again."""
    text = with_guide_texts(page.read_text("utf-8"))
    make = MADE.get(f"{page.resolve().parent.name}/{page.stem}")
    return make(text) if make else text


def main(arguments: Sequence[str]) -> None:
    """Rewrite each file named."""
    for name in arguments:
        path = Path(name)
        path.write_text(remade(path), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
