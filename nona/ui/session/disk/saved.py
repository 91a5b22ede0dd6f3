"""What a workspace is on disk: one JSON file, a folder of uploads, a file for each result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.results.document import Document

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


class SavedResult(Document):
    """A job's result: its kind, what it belongs to, its file."""

    kind: str
    fingerprint: str
    job_id: str
    file: str


class SavedRun(SavedResult):
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
    results: tuple[SavedResult, ...]
    runs: tuple[SavedRun, ...]
    pinned: int | None
    made: int
    started_with: str
    left_out: tuple[str, ...]
    models: tuple[Mapping[str, Any], ...]
    scenarios: tuple[SavedScenario, ...]
