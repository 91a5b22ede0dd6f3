"""Commands on what runs and what is deployed."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from click.exceptions import Exit

from nona.cli.commands.deployment import ExportOptions, ImportOptions
from nona.core.errors import DeploymentError
from nona.core.output_files import check_places, write_bytes
from nona.deployment.facts import Facts
from nona.deployment.files import given_files
from nona.deployment.importing import Imported, import_files
from nona.deployment.writing import Standing
from nona.scenario.lookup import Sources
from nona.scenario.opening import open_bytes
from nona.scenario.schema import Scenario

OPEN = 2
"""Exit status while something is asked."""


def import_paths(arguments: ImportOptions) -> None:
    """Read what runs, print what was found, and write the scenario."""
    imported = import_files(given_files(arguments.paths), dict(arguments.answers))
    if imported.whole:
        check(imported)
    if arguments.output is not None:
        if not (imported.data["cluster"]["servers"] or "workload" in imported.data):
            raise DeploymentError(
                f"{arguments.output}: these files have neither servers nor traffic: there is no scenario; "
                "add a repository, nodes, a command or scrapes."
            )
        _write(imported, arguments.output, arguments.force)
    print(
        json.dumps(imported.facts.to_json(), ensure_ascii=False)
        if arguments.json
        else facts_text(imported.facts)
    )
    if imported.facts.asked:
        keys = ", ".join(fact.key for fact in imported.facts.asked)
        print(f"nona: still asked: {keys}; give each with --set KEY=VALUE", file=sys.stderr)
        raise Exit(OPEN)


def check(imported: Imported) -> None:
    """Raise an error if the scenario that was found is none that opens."""
    open_bytes(imported.text.encode(), "scenario.yaml", Sources(None, in_memory=imported.files))


def _write(imported: Imported, path: Path, force: bool) -> None:
    files = {path: imported.text.encode()}
    files |= {path.parent / name: data for name, data in imported.files.items()}
    write_files(files, force)


def write_files(files: Mapping[Path, bytes], force: bool) -> None:
    """Write files; none where one of them exists with another content, unless ``force``."""
    for path, data in files.items():
        if path.is_file() and not force and path.read_bytes() != data:
            raise DeploymentError(f"{path}: the file exists; add --force to overwrite it.")
    check_places(*files)
    for path, data in files.items():
        write_bytes(path, data)


def export_files(arguments: ExportOptions, scenario: Scenario, sources: Sources) -> None:
    """Write a scenario as files of those who deploy it."""
    from nona.deployment.exporting import files_of, unwritten_of
    from nona.deployment.standing import standing_of

    files_of(Standing(scenario, ""), arguments.form)  # what cannot be written is refused before it is judged
    standing = standing_of(scenario, sources, arguments.plan_option, arguments.anyway)
    folder = arguments.output
    files = {folder / name: text.encode() for name, text in files_of(standing, arguments.form).items()}
    for path in files:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DeploymentError(f"{path.parent}: {error.strerror}; choose another folder.") from None
    write_files(files, arguments.force)
    left_out = unwritten_of(standing.scenario, arguments.form)
    print("\n".join([*standing.lines, *(f"  {path}" for path in files), *left_out]))


_TITLES = {"read": "Read", "assumed": "Assumed", "not_used": "Not used", "asked": "Asked"}


def facts_text(facts: Facts) -> str:
    """Return the facts as text: a line each, with its place."""
    lines: list[str] = []
    for part, title in _TITLES.items():
        rows = getattr(facts, part)
        if rows:
            lines += ["", title] if lines else [title]
        for fact in rows:
            key = f"  --set {fact.key}=…" if fact.key else ""
            value = "" if fact.value is None else f": {fact.value}"
            lines.append(f"  {fact.what}{value}  [{fact.place}]{key}")
    return "\n".join(lines) if lines else "Nothing was read."
