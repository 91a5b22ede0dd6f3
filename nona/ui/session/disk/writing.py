"""Writing a workspace: results and uploads first, then the file that names them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nona.foreign.whole_files import write_whole
from nona.results.document import Document
from nona.scenario.file import scenario_to_mapping
from nona.scenario.schema import Scenario
from nona.ui.session.disk.files import MOST_WORKSPACE_BYTES, remove_others
from nona.ui.session.disk.saved import (
    FILE,
    RESULTS,
    UPLOADS,
    VERSION,
    SavedDraft,
    SavedMoment,
    SavedResult,
    SavedRun,
)
from nona.ui.session.disk.snapshot import Snapshot
from nona.ui.session.editing.history import Moment

MOST_HISTORY_BYTES = 4 * 2**20


@dataclass
class Texts:
    """The scenarios of one file as JSON, each made once; later files of the workspace reuse them."""

    _scenarios: dict[int, tuple[Scenario, str, int]] = field(default_factory=dict)
    _models: dict[int, tuple[Mapping[str, Any], str]] = field(default_factory=dict)

    def number(self, scenario: Scenario) -> int:
        """The scenario's number in the file; it is added when it is not there yet."""
        key = id(scenario)
        if key not in self._scenarios:
            data = scenario_to_mapping(scenario)
            models = scenario.models
            if id(models) not in self._models:
                self._models[id(models)] = (models, _json(data.get("models", {})))
            data.pop("models", None)
            self._scenarios[key] = (scenario, _json(data), id(models))
        return list(self._scenarios).index(key)

    def keep(self, scenarios: list[Scenario]) -> None:
        """Forget all but these."""
        held = {id(s) for s in scenarios}
        self._scenarios = {k: v for k, v in self._scenarios.items() if k in held}
        used = {models for _, _, models in self._scenarios.values()}
        self._models = {k: v for k, v in self._models.items() if k in used}

    def size(self, scenario: Scenario) -> int:
        """Bytes that a scenario takes in the file, without its models."""
        self.number(scenario)
        return len(self._scenarios[id(scenario)][1])

    def parts(self) -> dict[str, str]:
        """The two lists of the file, as JSON."""
        order = list(self._models)
        scenarios = [
            f'{{"text": {text}, "models": {order.index(m)}}}' for _, text, m in self._scenarios.values()
        ]
        return {
            "models": f"[{','.join(text for _, text in self._models.values())}]",
            "scenarios": f"[{','.join(scenarios)}]",
        }


def write_workspace(
    folder: Path, uploads: Path, shot: Snapshot, texts: Texts, most_bytes: int = MOST_WORKSPACE_BYTES
) -> None:
    """Save ``shot`` in ``folder``; ``uploads`` is where its files lie now. Raises ``OSError``.

    What goes beyond ``most_bytes`` is left out: of the results the oldest first, then uploads.
    """
    left_out: list[str] = []
    room = most_bytes - _copy_uploads(folder / UPLOADS, uploads, shot, most_bytes, left_out)
    results, runs = _write_results(folder / RESULTS, shot, room, left_out)
    body = _body(shot, texts, results, runs, left_out)
    write_whole(folder / FILE, body.encode("ascii"), sync=True)
    remove_others(folder / RESULTS, {saved.file for saved in (*results, *runs)})
    if shot.uploads is not None:
        remove_others(folder / UPLOADS, {name for name, _, _ in shot.uploads})


def _copy_uploads(target: Path, source: Path, shot: Snapshot, most: int, left_out: list[str]) -> int:
    """Copy the files that are new or changed; returns the bytes that all take."""
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
    folder: Path, shot: Snapshot, room: int, left_out: list[str]
) -> tuple[list[SavedResult], list[SavedRun]]:
    results: list[SavedResult] = []
    runs: list[SavedRun] = []
    for run in reversed(shot.runs):
        file, room = _write_result(folder, run.job_id, run.data, room)
        if file:
            saved = {"kind": "simulate", "fingerprint": run.fingerprint, "job_id": run.job_id, "file": file}
            runs.append(SavedRun(number=run.number, name=run.name, **saved))
        else:
            left_out.append(f"run {run.number}")
    for kind, held in shot.results.items():
        file, room = _write_result(folder, held.job_id, held.data, room)
        if file:
            results.append(
                SavedResult(kind=kind, fingerprint=held.fingerprint, job_id=held.job_id, file=file)
            )
        elif isinstance(held.data, Document):
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
    shot: Snapshot,
    texts: Texts,
    results: list[SavedResult],
    runs: list[SavedRun],
    left_out: list[str],
) -> str:
    past, future = _within(shot.past, texts), _within(shot.future, texts)
    texts.keep([m.scenario for _, m in (*past, *future)] + [shot.now.scenario])
    parts = {
        "version": _json(VERSION),
        "now": _json(_moment("", shot.now, texts).to_json()),
        "past": _json([_moment(p, m, texts).to_json() for p, m in past]),
        "future": _json([_moment(p, m, texts).to_json() for p, m in future]),
        "symbols": _json(shot.symbols),
        "kept": _json({k: v for k, v in shot.kept.items() if _is_json(v)}),
        "results": _json([r.to_json() for r in results]),
        "runs": _json([r.to_json() for r in runs]),
        "pinned": _json(shot.pinned),
        "made": _json(shot.made),
        "started_with": _json(shot.started_with),
        "left_out": _json(left_out),
    }
    parts |= texts.parts()
    return "{" + ",\n".join(f'"{key}": {value}' for key, value in parts.items()) + "}\n"


def _within(steps: tuple[tuple[str, Moment], ...], texts: Texts) -> list[tuple[str, Moment]]:
    """The latest steps, as many as may stand in the file."""
    kept: list[tuple[str, Moment]] = []
    room = MOST_HISTORY_BYTES
    for place, moment in reversed(steps):
        room -= texts.size(moment.scenario)
        if room < 0:
            break
        kept.append((place, moment))
    return kept[::-1]


def _moment(place: str, moment: Moment, texts: Texts) -> SavedMoment:
    drafts = [
        SavedDraft(path=tuple(path), value=d.value, error=d.error)
        for path, d in moment.drafts.items()
        if _is_json(d.value)
    ]
    return SavedMoment(
        scenario=texts.number(moment.scenario), drafts=tuple(drafts), model=moment.model, place=place
    )


def _json(value: object) -> str:
    return json.dumps(value)


def _is_json(value: object) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True
