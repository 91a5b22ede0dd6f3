"""The list of the kinds of jobs, and that everything which tells jobs apart knows all of them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from app_driver import Open

from nona.errors import JobError
from nona.scenario.schema import Scenario
from nona.ui.jobs.kinds import KINDS
from nona.ui.jobs.pool import Worker
from nona.ui.jobs.registry import Job
from nona.ui.session.state import AppState
from nona.ui.tasks.serving import function_of

ROOT = Path(__file__).resolve().parents[2]
OF_THE_SESSION = sorted(set(KINDS) - {"answer", "story"})  # these two are not started by a button


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_has_a_function_and_knows_what_it_depends_on(name: str) -> None:
    kind = KINDS.find(name)
    assert kind.name == name
    assert list(inspect.signature(function_of(kind)).parameters) == ["spec", "desk"]
    assert set(kind.parts) <= set(Scenario.model_fields)
    assert bool(AppState().fingerprint(name)) is bool(kind.parts)


def test_people_can_tell_the_kinds_apart() -> None:
    assert len({kind.noun for kind in KINDS.values()}) == len(KINDS)
    with pytest.raises(JobError, match="is not known; choose from place, capacity"):
        KINDS.find("shell")


def test_every_button_of_a_page_starts_a_kind_that_there_is() -> None:
    text = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "nona/ui/pages").rglob("*.py"))
    text += "".join(p.read_text(encoding="utf-8") for p in (ROOT / "pages").glob("*.py"))
    named = set(re.findall(r'(?:^KIND = |job_panel\(\s*state,\s*)"([\w-]+)"', text, re.MULTILINE))
    assert named == set(OF_THE_SESSION)


class _Known:
    """The server's jobs: one of every kind that a session starts, all running."""

    def __init__(self) -> None:
        worker = cast("Worker", SimpleNamespace(kill=lambda: None))
        self.jobs = {n: Job(n, n, "", Path(), worker, seen=0.0) for n in OF_THE_SESSION}

    def get(self, job_id: str | None) -> Job | None:
        return self.jobs.get(job_id or "")


def test_a_job_of_any_kind_is_watched_and_can_be_ended_on_every_page(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that nobody looks at is cancelled after a minute: the side bar looks at all of them."""
    at, known = open_page("4_cluster"), _Known()
    monkeypatch.setattr("nona.ui.session.workspace.jobs", lambda: known)
    monkeypatch.setattr(
        "nona.ui.shell.job_panel.collect", lambda state: False
    )  # it looks once, at a page's start
    at.session_state["nona_state"].jobs |= {name: name for name in OF_THE_SESSION}
    at.run()
    assert not at.exception
    assert [name for name, job in known.jobs.items() if not job.seen] == []
    keys = [b.key for b in at.sidebar.button]
    assert keys.index("stop-check") < keys.index("undo")  # above the scenario: seen without scrolling
    at.button(key="stop-check").click().run()
    assert known.jobs["check"].status == "cancelled"
    assert not [b for b in at.button if b.key == "stop-check"]
