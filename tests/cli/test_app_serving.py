"""``nona app`` beyond this machine: refused without a login, with one it says what it exposes."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from nona.cli import app as start
from nona.cli.main import main
from nona.serving.access import read_password
from nona.serving.settings import Serving

PASSWORD = "correct horse battery"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """What would have been started, with the person's folder in an empty place."""
    calls: list[Any] = []
    monkeypatch.setenv("NONA_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(start, "become", lambda *given: calls.append(given))
    monkeypatch.setattr(start, "check_port", lambda host, port: None)
    return calls


def set_password(monkeypatch: pytest.MonkeyPatch, text: str, *options: str) -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{text}\n"))
    return main(["app", "--set-password", *options])


def flag(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--host", "0.0.0.0"], "nona app --set-password"),
        (["--host", "192.168.0.7"], "nona app --set-password"),
        (["--allow-name", "plan.example.com"], "nona app --set-password"),
        (["--host", "plan.example.com"], "is no address"),
        (["--host", "0.0.0.0", "--user-header", "X Y"], "is no name of a header"),
        (["--host", "0.0.0.0", "--user-header", "X-User", "--proxy", "all"], "is no address"),
        (["--proxy", "10.0.0.2"], "--user-header"),
        (["--allow-name", "a/b"], "is no host name"),
        (["--host", "0.0.0.0", "--password-file", "gone.json"], "is missing"),
    ],
)
def test_nothing_is_opened_to_others_by_mistake(
    started: list[Any], capsys: pytest.CaptureFixture[str], options: list[str], why: str
) -> None:
    assert main(["app", *options]) == 2
    told = capsys.readouterr().err
    assert why in told
    assert len(told.splitlines()) == 1
    assert not started


def test_the_password_is_kept_as_a_hash_that_its_owner_alone_reads(
    started: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert set_password(monkeypatch, "short") == 2
    assert set_password(monkeypatch, PASSWORD) == 0
    file = tmp_path / "password.json"
    assert PASSWORD not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    assert read_password(file).fits(PASSWORD)
    assert not started
    file.chmod(0o644)
    assert main(["app", "--host", "0.0.0.0"]) == 2
    assert "chmod 600" in capsys.readouterr().err


def test_beyond_this_machine_it_says_what_it_exposes(
    started: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set_password(monkeypatch, PASSWORD) == 0
    assert main(["app", "--host", "0.0.0.0", "--allow-name", "plan.example.com", "--no-persist"]) == 0
    command, environment = started[0]
    serving = Serving.read(environment)
    assert serving.guarded
    assert serving.hosts == ("plan.example.com",)
    assert not serving.persist
    assert flag(command, "--server.address") == "0.0.0.0"
    assert flag(command, "--browser.serverAddress") == "plan.example.com"
    assert flag(command, "--server.maxUploadSize") == "16"
    told = capsys.readouterr().err
    for part in ("0.0.0.0", "password", "upload", "not encrypted", "docs/deployment.md"):
        assert part in told
    assert main(["app", "--user-header", "X-Remote-User", "--allow-name", "plan.example.com"]) == 0
    serving = Serving.read(started[1][1])
    assert (serving.user_header, serving.password_file) == ("X-Remote-User", None)
    assert "X-Remote-User" in capsys.readouterr().err


def test_on_this_machine_nothing_is_asked(started: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["app", "--host", "localhost"]) == 0
    serving = Serving.read(started[0][1])
    assert not serving.guarded
    assert serving.persist
    assert capsys.readouterr().err == ""
