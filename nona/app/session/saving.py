"""Workspaces saved: a look every second, what has changed, written whole."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nona.app.session.editing import PastScenario
from nona.app.session.state import AppState, KeptRun, Result
from nona.app.session.workspace_files import (
    FILE,
    MOST_WORKSPACE_BYTES,
    RESULTS,
    UPLOADS,
    VERSION,
    ResultEntry,
    SavedDraft,
    SavedMoment,
    SavedRun,
    read_workspace,
    remove_others,
    sweep,
)
from nona.core.document import Document
from nona.core.foreign import write_whole
from nona.scenario.file import scenario_to_mapping
from nona.scenario.schema import Scenario

STEPS = 20  # to undo, and as many to redo


@dataclass(frozen=True, slots=True)
class WorkspaceSnapshot:
    """The contents of a workspace; its parts are immutable or copies, so that pages go on meanwhile.

    ``plain`` are the parts that the file has as they are. ``uploads`` has name, size in bytes and time of
    change in nanoseconds of every file; ``None`` when one that was kept is gone.
    """

    now: PastScenario
    past: tuple[tuple[str, PastScenario], ...]
    future: tuple[tuple[str, PastScenario], ...]
    results: Mapping[str, Result]
    runs: tuple[KeptRun, ...]
    plain: Mapping[str, Any]
    uploads: tuple[tuple[str, int, int], ...] | None

    @classmethod
    def from_state(cls, state: AppState) -> WorkspaceSnapshot:
        """Of a state that its pages may be changing."""
        past, future = state.history.steps(STEPS)
        return cls(
            PastScenario(state.scenario, dict(state.drafts), state.model),
            past,
            future,
            dict(state.results),
            tuple(state.runs.kept),
            {
                "symbols": {name: dict(sizes) for name, sizes in list(state.symbols.items())},
                "kept": dict(state.kept),
                "pinned": state.runs.pinned,
                "made": state.runs.made,
                "started_with": state.started_with,
            },
            _files(state),
        )


def _files(state: AppState) -> tuple[tuple[str, int, int], ...] | None:
    try:
        stats = [(name, (state.uploads.folder / name).stat()) for name in state.uploads.names()]
    except OSError:
        return None
    if state.uploads.lost():  # a cleaner of temporary folders was here: what was saved stays
        return None
    return tuple(sorted((name, s.st_size, s.st_mtime_ns) for name, s in stats))


MOST_HISTORY_BYTES = 4 * 2**20


@dataclass
class ScenarioTexts:
    """The scenarios of one file as JSON, each made once; later files of the workspace reuse them."""

    _scenarios: dict[int, tuple[Scenario, str, int]] = field(default_factory=dict)
    _models: dict[int, tuple[Mapping[str, Any], str]] = field(default_factory=dict)

    def number(self, scenario: Scenario) -> int:
        """Return the scenario's number in the file; it is added when it is not there yet."""
        key = id(scenario)
        if key not in self._scenarios:
            data = scenario_to_mapping(scenario)
            models = scenario.models
            if id(models) not in self._models:
                self._models[id(models)] = (models, json.dumps(data.get("models", {})))
            data.pop("models", None)
            self._scenarios[key] = (scenario, json.dumps(data), id(models))
        return list(self._scenarios).index(key)

    def keep(self, scenarios: list[Scenario]) -> None:
        """Forget all but these."""
        ids = {id(s) for s in scenarios}
        self._scenarios = {k: v for k, v in self._scenarios.items() if k in ids}
        used = {models for _, _, models in self._scenarios.values()}
        self._models = {k: v for k, v in self._models.items() if k in used}

    def size(self, scenario: Scenario) -> int:
        """Bytes that a scenario takes in the file, without its models."""
        self.number(scenario)
        return len(self._scenarios[id(scenario)][1])

    def parts(self) -> dict[str, str]:
        """Return the two lists of the file, as JSON."""
        order = list(self._models)
        scenarios = [
            f'{{"text": {text}, "models": {order.index(m)}}}' for _, text, m in self._scenarios.values()
        ]
        return {
            "models": f"[{','.join(text for _, text in self._models.values())}]",
            "scenarios": f"[{','.join(scenarios)}]",
        }


def write_workspace(
    folder: Path,
    uploads: Path,
    shot: WorkspaceSnapshot,
    texts: ScenarioTexts,
    most_bytes: int = MOST_WORKSPACE_BYTES,
) -> None:
    """Save ``shot`` in ``folder``; ``uploads`` is where its files lie now. Raises ``OSError``.

    Beyond ``most_bytes`` the oldest results are left out first, then uploads.
    """
    left_out: list[str] = []
    room = most_bytes - _copy_uploads(folder / UPLOADS, uploads, shot, most_bytes, left_out)
    results, runs = _write_results(folder / RESULTS, shot, room, left_out)
    body = _body(shot, texts, results, runs, left_out)
    write_whole(folder / FILE, body.encode("ascii"), sync=True)
    remove_others(folder / RESULTS, {saved.file for saved in (*results, *runs)})
    if shot.uploads is not None:
        remove_others(folder / UPLOADS, {name for name, _, _ in shot.uploads})


def _copy_uploads(target: Path, source: Path, shot: WorkspaceSnapshot, most: int, left_out: list[str]) -> int:
    taken = 0
    for name, size, changed in shot.uploads or ():
        if taken + size > most:
            left_out.append(f"the file {name}")
            continue
        taken += size
        copy = target / name
        if not copy.is_file() or copy.stat().st_size != size or copy.stat().st_mtime_ns < changed:
            try:
                write_whole(copy, (source / name).read_bytes())
            except FileNotFoundError:  # removed meanwhile: the next look sees it
                continue
    return taken


def _write_results(
    folder: Path, shot: WorkspaceSnapshot, room: int, left_out: list[str]
) -> tuple[list[ResultEntry], list[SavedRun]]:
    results: list[ResultEntry] = []
    runs: list[SavedRun] = []
    for run in reversed(shot.runs):
        file, room = _write_result(folder, run.job_id, run.data, room)
        if file:
            saved = {"kind": "simulate", "fingerprint": run.fingerprint, "job_id": run.job_id, "file": file}
            runs.append(SavedRun(number=run.number, name=run.name, **saved))
        else:
            left_out.append(f"run {run.number}")
    for kind, result in shot.results.items():
        file, room = _write_result(folder, result.job_id, result.data, room)
        if file:
            results.append(
                ResultEntry(kind=kind, fingerprint=result.fingerprint, job_id=result.job_id, file=file)
            )
        elif isinstance(result.data, Document):
            left_out.append(f"the result of {kind}")
    return results, runs[::-1]


def _write_result(folder: Path, job_id: str, data: object, room: int) -> tuple[str, int]:
    """Write a result unless it is there; its file (empty if it does not fit) and the room that is left."""
    if not isinstance(data, Document):
        return "", room
    name = hashlib.sha256(job_id.encode()).hexdigest()[:32] + ".json"
    path = folder / name
    if path.is_file():
        return name, room - path.stat().st_size
    text = data.model_dump_json(by_alias=True).encode()
    if len(text) > room:
        return "", room
    write_whole(path, text)
    return name, room - len(text)


def _body(
    shot: WorkspaceSnapshot,
    texts: ScenarioTexts,
    results: list[ResultEntry],
    runs: list[SavedRun],
    left_out: list[str],
) -> str:
    past, future = _limited_steps(shot.past, texts), _limited_steps(shot.future, texts)
    texts.keep([m.scenario for _, m in (*past, *future)] + [shot.now.scenario])
    parts = {
        "version": VERSION,
        "now": _moment("", shot.now, texts).to_json(),
        "past": [_moment(place, moment, texts).to_json() for place, moment in past],
        "future": [_moment(place, moment, texts).to_json() for place, moment in future],
        "results": [result.to_json() for result in results],
        "runs": [run.to_json() for run in runs],
        "left_out": left_out,
        **shot.plain,
    }
    written = {key: json.dumps(value) for key, value in parts.items()} | texts.parts()
    return "{" + ",\n".join(f'"{key}": {value}' for key, value in written.items()) + "}\n"


def _limited_steps(
    steps: tuple[tuple[str, PastScenario], ...], texts: ScenarioTexts
) -> list[tuple[str, PastScenario]]:
    kept: list[tuple[str, PastScenario]] = []
    room = MOST_HISTORY_BYTES
    for place, moment in reversed(steps):
        room -= texts.size(moment.scenario)
        if room < 0:
            break
        kept.append((place, moment))
    return kept[::-1]


def _moment(place: str, moment: PastScenario, texts: ScenarioTexts) -> SavedMoment:
    drafts = [
        SavedDraft(path=tuple(path), value=d.value, error=d.error)
        for path, d in moment.drafts.items()
        if _is_json(d.value)
    ]
    return SavedMoment(
        scenario=texts.number(moment.scenario), drafts=tuple(drafts), model=moment.model, place=place
    )


def _is_json(value: object) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


BEAT_S = 1.0
LONGEST_S = 4.0  # between a change and its being saved
IDLE_SHARE = 20  # a workspace that takes long to write waits that many times as long


@dataclass
class _WatchedSession:
    state: AppState
    saved: WorkspaceSnapshot | None = None
    texts: ScenarioTexts = field(default_factory=ScenarioTexts)
    next_look: float = 0.0
    leaving: bool = False


class WorkspaceStore:
    """Workspaces below a folder, each under the hash of its token: who lists the folder learns no token.

    ``folder``: where workspaces are kept; made when the first is saved. ``beat_s``: seconds between two
    looks.
    """

    def __init__(self, folder: Path, beat_s: float = BEAT_S) -> None:
        self.folder, self.problem = folder, ""
        self._beat_s = beat_s
        self._watched: dict[str, _WatchedSession] = {}
        self._lock, self._writing = threading.Lock(), threading.Lock()
        sweep(folder)

    def start(self) -> None:
        """Save from now on, in a thread of its own."""
        threading.Thread(target=self._run, daemon=True, name="workspaces").start()

    def place(self, token: str) -> Path:
        """Return the folder of the workspace with this token."""
        return self.folder / hashlib.sha256(token.encode()).hexdigest()[:32]

    def watch(self, token: str, state: AppState) -> None:
        """Save the workspace whenever it changes."""
        with self._lock:
            watched = self._watched.get(token)
            if watched is None or watched.state is not state:
                self._watched[token] = _WatchedSession(state)
            else:
                watched.leaving = False

    def retire(self, token: str) -> None:
        """Save it once more, then watch it no longer."""
        with self._lock:
            watched = self._watched.get(token)
            if watched is not None:
                watched.leaving, watched.next_look = True, 0.0

    def load(self, token: str) -> AppState | None:
        """Read the workspace with this token; ``None`` where none is saved."""
        with self._lock:
            watched = self._watched.get(token)
        if watched is not None:
            return watched.state
        try:
            state = read_workspace(self.place(token))
        except OSError as error:
            self.problem = _problem(self.folder, error)
            return None
        if state is not None:
            _note_use(self.place(token))
        return state

    def flush(self) -> None:
        """Save all that has changed, now."""
        with self._lock:
            all_ = list(self._watched.items())
        for token, watched in all_:
            self._save_if_changed(token, watched)

    def _run(self) -> None:
        while True:
            time.sleep(self._beat_s)
            now = time.monotonic()
            with self._lock:
                due = [(t, h) for t, h in self._watched.items() if h.next_look <= now]
            for token, watched in due:
                self._save_if_changed(token, watched)

    def _save_if_changed(self, token: str, watched: _WatchedSession) -> None:
        with self._writing:
            begun = time.monotonic()
            try:
                self._save(token, watched)
                self.problem = ""
            except OSError as error:
                if not self.problem:
                    self.problem = _problem(self.folder, error)
                    print(self.problem, file=sys.stderr)
            except Exception as error:  # a workspace that cannot be written must not stop the others
                self.problem = f"Workspace: it is not saved ({type(error).__name__}); download its bundle."
                print(self.problem, file=sys.stderr)
            took = time.monotonic() - begun
            watched.next_look = time.monotonic() + min(took * IDLE_SHARE, LONGEST_S - BEAT_S)
        if watched.leaving and not self.problem:
            with self._lock:
                if watched.leaving and self._watched.get(token) is watched:
                    del self._watched[token]

    def _save(self, token: str, watched: _WatchedSession) -> None:
        place = self.place(token)
        watched.state.uploads.bring_back(place / UPLOADS)
        shot = WorkspaceSnapshot.from_state(watched.state)
        if shot == watched.saved or (watched.state.untouched and not place.exists()):
            return
        write_workspace(place, watched.state.uploads.folder, shot, watched.texts)
        watched.saved = shot


def _problem(folder: Path, error: OSError) -> str:
    reason = error.strerror or type(error).__name__
    return (
        f"Folder {folder}: workspaces are not saved ({reason}); free space there, or name another folder "
        "in NONA_DATA_DIR."
    )


def _note_use(folder: Path) -> None:
    """Note the use: the age of a workspace counts from it."""
    with suppress(OSError):
        for path in folder.glob("*.json"):
            os.utime(path)
