"""Workspaces on disk: their files, and how they are read back."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nona.app.jobs.kinds import KINDS
from nona.app.session.editing import PastScenario
from nona.app.session.state import AppState, Draft, KeptRun, Result
from nona.core.document import Document
from nona.core.errors import NonaError
from nona.core.foreign import FRESH
from nona.queries.report.report import SimulatedRun
from nona.scenario.file import written_scenario
from nona.scenario.schema import Scenario

VERSION = 1
FILE, BROKEN, UPLOADS, RESULTS = "workspace.json", "broken.json", "uploads", "results"


class SavedDraft(Document):
    """Something typed that is not valid: its place, the value, why."""

    path: tuple[int | str, ...]
    value: Any
    error: str


class SavedMoment(Document):
    """A scenario by its number in the file, with drafts and the selected model; ``place`` names a step."""

    scenario: int
    drafts: tuple[SavedDraft, ...]
    model: str
    place: str = ""


class ResultEntry(Document):
    """A job's result: its kind, what it belongs to, its file."""

    kind: str
    fingerprint: str
    job_id: str
    file: str


class SavedRun(ResultEntry):
    """A kept simulation: also its number and its name."""

    number: int
    name: str


class SavedScenario(Document):
    """A scenario without its models, and the number of those in the file."""

    text: Mapping[str, Any]
    models: int


class SavedWorkspace(Document):
    """A whole workspace; ``left_out`` names what did not fit."""

    version: int
    now: SavedMoment
    past: tuple[SavedMoment, ...]
    future: tuple[SavedMoment, ...]
    symbols: Mapping[str, Mapping[str, int]]
    kept: Mapping[str, Any]
    results: tuple[ResultEntry, ...]
    runs: tuple[SavedRun, ...]
    pinned: int | None
    made: int
    started_with: str
    left_out: tuple[str, ...]
    models: tuple[Mapping[str, Any], ...]
    scenarios: tuple[SavedScenario, ...]


KEEP_S = 30 * 86400.0
MOST_BYTES = 4 * 2**30  # of all workspaces
MOST_WORKSPACE_BYTES = 512 * 2**20


def remove_others(folder: Path, kept: set[str]) -> None:
    """Remove the files of a folder that are not ``kept``."""
    with suppress(FileNotFoundError):
        for path in list(folder.iterdir()):
            if path.name not in kept:
                path.unlink(missing_ok=True)


def _size_of(folder: Path) -> int:
    return sum(p.lstat().st_size for p in folder.rglob("*") if p.is_file())


def sweep(root: Path, keep_s: float = KEEP_S, most_bytes: int = MOST_BYTES) -> None:
    """Remove halves of files, workspaces unused for ``keep_s``, then the oldest until the rest fits."""
    workspaces: list[tuple[float, int, Path]] = []
    now = time.time()
    for folder in list(root.iterdir()) if root.is_dir() else ():
        with suppress(OSError):
            for half in folder.rglob(f"{FRESH}*"):
                half.unlink(missing_ok=True)
            main = folder / FILE
            changed = (main if main.is_file() else folder).stat().st_mtime
            if now - changed > keep_s:
                shutil.rmtree(folder, ignore_errors=True)
            else:
                workspaces.append((changed, _size_of(folder), folder))
    total = sum(size for _, size, _ in workspaces)
    for _, size, folder in sorted(workspaces, key=lambda f: f[0]):
        if total <= most_bytes:
            return
        shutil.rmtree(folder, ignore_errors=True)
        total -= size


# The exceptions that reading a changed or damaged file may raise.
DAMAGE = (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, AttributeError, OSError)


@dataclass(frozen=True, slots=True)
class RestoredNotice:
    """The notice about a restored workspace: lines, and the file that could not be opened."""

    lines: tuple[str, ...] = ()
    broken: Path | None = None


def read_workspace(folder: Path) -> AppState | None:
    """Return the workspace in a folder; ``None`` if there is none.

    One that is damaged gives an empty state that keeps a :class:`RestoredNotice`; its file is set aside as
    ``broken.json``, so that nothing writes over it, until the reader dismisses the notice.
    """
    path, broken = folder / FILE, folder / BROKEN
    if not path.exists():
        return None
    try:
        if path.stat().st_size > MOST_WORKSPACE_BYTES:
            raise ValueError(f"it has more than the {MOST_WORKSPACE_BYTES:,} bytes allowed")
        saved = SavedWorkspace.model_validate(json.loads(path.read_bytes()))
        if saved.version != VERSION:
            raise ValueError(f"version {saved.version} is not {VERSION}")
        state, lines = _state(folder, saved)
    except DAMAGE as error:
        path.replace(broken)
        state, lines = AppState(), [f"The cause: {_error_line(error)}"]
    if lines or broken.is_file():
        state.choices.keep(RestoredNotice(tuple(lines), broken if broken.is_file() else None))
    return state


def _state(folder: Path, saved: SavedWorkspace) -> tuple[AppState, list[str]]:
    """Return the state that a file describes, and what is missing from it."""
    scenarios = [written_scenario({**s.text, "models": saved.models[s.models]}) for s in saved.scenarios]
    scenarios = _sharing_models(scenarios, [s.models for s in saved.scenarios])
    now = _moment(saved.now, scenarios)
    state = AppState(scenario=now.scenario, drafts=dict(now.drafts), model=now.model)
    state.history.restore(
        [(m.place, _moment(m, scenarios)) for m in saved.past],
        [(m.place, _moment(m, scenarios)) for m in saved.future],
    )
    state.symbols = {name: dict(sizes) for name, sizes in saved.symbols.items()}
    state.kept, state.started_with = dict(saved.kept), saved.started_with
    lines = [f"Not kept because space ran out: {', '.join(saved.left_out)}."] if saved.left_out else []
    lines += _take_uploads(state, folder / UPLOADS)
    lines += _take_results(state, folder / RESULTS, saved)
    return state, lines


def _sharing_models(scenarios: list[Scenario], numbers: list[int]) -> list[Scenario]:
    """Scenarios with the same models share one object, as they did."""
    first: dict[int, Scenario] = {}
    return [
        s.model_copy(update={"models": first.setdefault(n, s).models})
        for s, n in zip(scenarios, numbers, strict=True)
    ]


def _moment(saved: SavedMoment, scenarios: list[Scenario]) -> PastScenario:
    drafts = {d.path: Draft(d.value, d.error) for d in saved.drafts}
    if not 0 <= saved.scenario < len(scenarios):
        raise ValueError(f"scenario {saved.scenario} of {len(scenarios)} is not in the file")
    return PastScenario(scenarios[saved.scenario], drafts, saved.model)


def _take_uploads(state: AppState, folder: Path) -> list[str]:
    lines = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        try:
            state.uploads.add(path.name, path.read_bytes())
        except (NonaError, OSError) as error:
            lines.append(f"The file {path.name} was not restored: {_error_line(error)}")
    return lines


def _take_results(state: AppState, folder: Path, saved: SavedWorkspace) -> list[str]:
    lines: list[str] = []
    read: dict[str, Any] = {}

    def data(entry: ResultEntry) -> Any:
        if entry.file not in read:
            read[entry.file] = None
            try:
                if Path(entry.file).name != entry.file:
                    raise ValueError(f"{entry.file!r} is not a plain name")
                read[entry.file] = KINDS.find(entry.kind).read(json.loads((folder / entry.file).read_bytes()))
            except DAMAGE as error:
                lines.append(f"The result of {entry.kind} was not restored: {_error_line(error)}")
        return read[entry.file]

    for run in saved.runs:
        result = data(run)
        if isinstance(result, SimulatedRun):
            state.runs.kept.append(KeptRun(run.number, run.name, run.fingerprint, run.job_id, result))
    state.runs.restore(saved.made, saved.pinned)
    for entry in saved.results:
        result = data(entry)
        if result is not None:
            state.results[entry.kind] = Result(entry.fingerprint, result, entry.job_id)
            state.collected_jobs[entry.kind] = entry.job_id
    return lines


def _error_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text[:300].encode("utf-8", "replace").decode()
