"""``nona saved``: what was saved is listed, changed, compared, exported and imported from a shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nona.cli.main import main
from nona.results.saved import SavedComparison, SavedItem, SavedList
from nona.scenario.file import load_scenario
from nona.serving.settings import Serving, store_folder
from nona.sources.opening import open_scenario
from nona.sources.samples import scenario_path

SIMULATE = ["simulate", "slides_example", "--jobs", "40", "--replications", "2", "--engine", "simpy"]
Out = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the commands keep items, unless they are told another place."""
    monkeypatch.setenv("NONA_STORE", str(tmp_path / "mine"))
    return tmp_path


def call(out: Out, *words: object) -> dict[str, Any]:
    """What a command prints with ``--json``."""
    out.readouterr()
    assert main(["saved", *map(str, words), "--json"]) == 0
    found: dict[str, Any] = json.loads(out.readouterr().out)
    return found


def refusal(out: Out, *words: object) -> str:
    out.readouterr()
    assert main(["saved", *map(str, words)]) == 2
    told = out.readouterr()
    assert told.out == ""
    assert len(told.err.splitlines()) == 1
    return told.err


def saved(out: Out) -> tuple[SavedItem, ...]:
    return SavedList.from_json(call(out, "list")).items


def save(name: str, *options: str) -> None:
    assert main([*SIMULATE, "--scheduler", "local", "--scheduler", "spread", *options, "--save", name]) == 0


def test_from_a_simulation_to_another_store(folder: Path, capsys: Out) -> None:
    save("Monday")
    save("Tuesday", "--seed", "5")
    assert "see: nona saved show" in capsys.readouterr().err
    tuesday, monday = saved(capsys)
    assert (monday.name, monday.facts.schedulers, monday.mine) == ("Monday", ("local", "spread"), True)
    assert call(capsys, "rename", "Monday", "Peak")["name"] == "Peak"
    assert call(capsys, "note", "Peak", "of March")["note"] == "of March"
    assert [i["id"] for i in call(capsys, "list", "--search", "MARCH spread")["items"]] == [monday.id]
    assert call(capsys, "show", monday.id[:6])["name"] == "Peak"

    found = SavedComparison.from_json(call(capsys, "compare", "Peak", "Tuesday"))
    assert found.scenario == ((), (f"seed {load_scenario(scenario_path('slides_example')).seed} → 5",))
    assert main(["saved", "compare", "Peak", "Tuesday"]) == 0
    assert "another seed" in capsys.readouterr().out

    copy = call(capsys, "duplicate", "Peak", "--name", "Copy")
    call(capsys, "delete", "Copy", tuesday.id)
    assert [i.id for i in saved(capsys)] == [monday.id]
    call(capsys, "restore", copy["id"])
    file = folder / "all.nona-saved.zip"
    call(capsys, "export", "-o", file)
    taken = SavedList.from_json(call(capsys, "import", file, "--store", folder / "other"))
    assert [(i.name, i.note, i.imported) for i in taken.items] == [
        ("Copy", "of March", True),
        ("Peak", "of March", True),
    ]
    assert len(saved(capsys)) == 2  # the other folder is another store

    bundle = folder / "peak.nona.zip"
    call(capsys, "bundle", "Peak", "-o", bundle)
    assert [s.name for s in open_scenario(bundle).scenario.schedulers] == ["local", "spread"]


def test_what_cannot_be_done_is_one_line(folder: Path, capsys: Out) -> None:
    assert "there is none" in refusal(capsys, "show", "Monday")
    save("Monday")
    save("Monday")
    assert "2 are called so; give one of" in refusal(capsys, "show", "Monday")
    assert "choose 2 to 4" in refusal(capsys, "compare", saved(capsys)[0].id)
    assert "it is not here" in refusal(capsys, "import", folder / "gone")
    (folder / "text").write_text("no archive")
    assert "File of saved items: it was cut short" in refusal(capsys, "import", folder / "text")
    (folder / "mine" / "saved.sqlite3").write_bytes(b"no data base" * 100)
    for words in (["list"], ["delete", "Monday"], ["export", "-o", folder / "x"]):
        assert "it is damaged, or is no data base" in refusal(capsys, *words)


def test_a_list_without_items_says_so(folder: Path, capsys: Out) -> None:
    assert main(["saved", "list"]) == 0
    assert capsys.readouterr().out == "Nothing is saved here.\n"
    assert "choose 1 to" in refusal(capsys, "export", "-o", folder / "x")


def test_settings_of_a_server_carry_the_store() -> None:
    assert store_folder({"NONA_DATA_DIR": "/a"}) == Path("/a")
    serving = Serving(Path("/a"), store=Path("/b"), shared_store=True)
    assert Serving.read(serving.environment()) == serving
    plain = Serving.read(Serving(Path("/a")).environment())
    assert (plain.store, plain.shared_store) == (None, False)
