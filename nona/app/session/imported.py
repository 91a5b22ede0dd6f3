"""Dropped files of running clusters, answers to their questions, and the scenario they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from nona.app.session.opening import take_scenario, with_files
from nona.app.session.page_list import page_file
from nona.app.session.state import AppState
from nona.core.errors import NonaError
from nona.core.foreign import is_zip
from nona.deployment.facts import AnswerError, Fact, UnaskedError
from nona.deployment.files import GivenFile, file_of, given_files, unpacked
from nona.deployment.importing import Imported, import_files
from nona.deployment.kinds import recognize
from nona.scenario.lookup import Sources
from nona.scenario.opening import SCENARIO, open_bytes
from nona.scenario.sample_files import sample_root


@dataclass(frozen=True, slots=True)
class WhatRuns:
    """What was dropped so far.

    Parameters
    ----------
    files
        The files.
    answers
        What was answered, by key.
    imported
        What they say together; ``None`` before the first file, and where they cannot be read.
    problem
        Why an answer, or a file, was refused.
    questions
        Keys of all questions that were asked so far, in the order in which they came.
    """

    files: tuple[GivenFile, ...] = ()
    answers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    imported: Imported | None = None
    problem: str = ""
    questions: tuple[str, ...] = ()


def what_runs(name: str, data: bytes) -> tuple[GivenFile, ...]:
    """Return the files of a running cluster in a dropped file; none where it is something else.

    Raises ``NonaError`` for an archive of such files that is damaged.
    """
    if is_zip(data):
        if name.casefold().endswith(".nona.zip"):
            return ()
        files = tuple(file_of(member, content) for member, content in unpacked(name, data))
        return () if any(file.name == SCENARIO for file in files) else files
    file = file_of(name, data)
    try:
        kind = recognize(file).kind
    except NonaError:
        return ()  # no such file: the reader of scenarios reports the error
    return () if kind in ("other", "onnx") else (file,)


def take_what_runs(state: AppState, files: Sequence[GivenFile]) -> None:
    """Add files to those that were dropped before, and go where they are shown."""
    runs = state.choices.get(WhatRuns)
    names = {file.name for file in files}
    whole = (*(f for f in runs.files if f.name not in names), *files)
    _keep(state, runs, whole, *_read(whole, runs.answers))
    state.go_to = page_file("imported")


SAMPLE = "documents"
SAMPLE_ANSWERS = MappingProxyType({"documents.batch": "1", "documents.slo": "150 ms"})


def take_sample(state: AppState, name: str = SAMPLE, answered: bool = False) -> None:
    """Show the shipped files of a running server in place of those that were dropped."""
    state.choices.keep(WhatRuns(answers=SAMPLE_ANSWERS if answered else MappingProxyType({})))
    take_what_runs(state, given_files([sample_root() / "deployments" / name]))


def answer(state: AppState, key: str, text: str) -> None:
    """Take the answer to a question; an empty one asks it again, a wrong one is said and not kept."""
    runs = state.choices.get(WhatRuns)
    answers = {k: v for k, v in runs.answers.items() if k != key}
    if text.strip():
        answers[key] = text.strip()
    try:
        answers, imported = _read(runs.files, answers)
    except AnswerError as error:
        asked = () if runs.imported is None else runs.imported.facts.asked
        question = next((fact.what for fact in asked if fact.key == error.key), error.key)
        state.choices.keep(replace(runs, problem=f"{question}: {error.problem}"))
        return
    except NonaError as error:
        state.choices.keep(replace(runs, problem=str(error)))
        return
    _keep(state, runs, runs.files, answers, imported)


def _keep(
    state: AppState,
    before: WhatRuns,
    files: tuple[GivenFile, ...],
    answers: Mapping[str, str],
    imported: Imported,
) -> None:
    asked = (*before.questions, *before.answers, *(fact.key for fact in imported.facts.asked))
    state.choices.keep(WhatRuns(files, answers, imported, questions=tuple(dict.fromkeys(asked))))


def _read(files: Sequence[GivenFile], answers: Mapping[str, str]) -> tuple[dict[str, str], Imported]:
    """Import the files, without the answers whose questions another answer took away."""
    kept = dict(answers)
    while True:
        try:
            return kept, import_files(files, kept)
        except UnaskedError as error:
            del kept[error.key]


def take_suggestions(state: AppState) -> None:
    """Answer every question that has a likely answer with it; an answer may take other questions away."""
    for fact in _asked(state):
        if fact.value and fact.key in {still.key for still in _asked(state)}:
            answer(state, fact.key, fact.value)


def _asked(state: AppState) -> tuple[Fact, ...]:
    imported = state.choices.get(WhatRuns).imported
    return () if imported is None else imported.facts.asked


def forget(state: AppState) -> None:
    """Forget the files and their answers."""
    state.choices.keep(WhatRuns())


def make_scenario(state: AppState) -> None:
    """Make what was read the scenario; Undo brings the former back."""
    runs = state.choices.get(WhatRuns)
    if runs.imported is None:
        return
    try:
        held = Sources(None, in_memory=runs.imported.files)
        opened = open_bytes(runs.imported.text.encode(), "scenario.yaml", held)
        take_scenario(state, with_files(opened.scenario, held, state.uploads))
    except NonaError as error:
        state.choices.keep(replace(runs, problem=str(error)))
        return
    state.notify(
        f"“{state.scenario.name}” is the scenario now. Undo brings yours back. Where is its bottleneck, and "
        "when does it break? Ask there:", "simulation", "Simulation",
    )  # fmt: skip
    state.go_to = page_file("scenario")
