"""``nona saved``: what was saved is listed, changed, compared, exported and imported from a shell."""

from pathlib import Path

import pytest
from calling import answer, refusal, text

from nona.app.server.settings import Serving, store_folder
from nona.app.store.saved_results import SavedComparison, SavedList
from nona.cli.main import main
from nona.scenario.file import load_scenario
from nona.scenario.opening import open_scenario
from nona.scenario.sample_files import scenario_path

SIMULATE = ["simulate", "slides_example", "--jobs", "40", "--replications", "2", "--engine", "simpy"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the commands keep items, unless they are told another place."""
    monkeypatch.setenv("NONA_STORE", str(tmp_path / "mine"))
    return tmp_path


def saved(out):
    return SavedList.from_json(answer(out, "saved", "list")).items


def save(name, *options):
    assert main([*SIMULATE, "--scheduler", "local", "--scheduler", "spread", *options, "--save", name]) == 0


def test_from_a_simulation_to_another_store(folder, capsys):
    save("Monday")
    save("Tuesday", "--seed", "5")
    assert "see: nona saved show" in capsys.readouterr().err
    tuesday, monday = saved(capsys)
    assert (monday.name, monday.facts.schedulers, monday.mine) == ("Monday", ("local", "spread"), True)
    assert answer(capsys, "saved", "rename", "Monday", "Peak")["name"] == "Peak"
    assert answer(capsys, "saved", "note", "Peak", "of March")["note"] == "of March"
    (found,) = answer(capsys, "saved", "list", "--search", "MARCH spread")["items"]
    assert found["id"] == monday.id
    assert answer(capsys, "saved", "show", monday.id[:6])["name"] == "Peak"

    found = SavedComparison.from_json(answer(capsys, "saved", "compare", "Peak", "Tuesday"))
    assert found.scenario == ((), (f"seed {load_scenario(scenario_path('slides_example')).seed} → 5",))
    assert "another seed" in text(capsys, "saved", "compare", "Peak", "Tuesday")

    copy = answer(capsys, "saved", "duplicate", "Peak", "--name", "Copy")
    answer(capsys, "saved", "delete", "Copy", tuesday.id)
    assert [i.id for i in saved(capsys)] == [monday.id]
    answer(capsys, "saved", "restore", copy["id"])
    file = folder / "all.nona-saved.zip"
    answer(capsys, "saved", "export", "-o", file)
    taken = SavedList.from_json(answer(capsys, "saved", "import", file, "--store", folder / "other"))
    assert [(i.name, i.note, i.imported) for i in taken.items] == [
        (n, "of March", True) for n in ("Copy", "Peak")
    ]
    assert len(saved(capsys)) == 2  # the other folder is another store

    bundle = folder / "peak.nona.zip"
    answer(capsys, "saved", "bundle", "Peak", "-o", bundle)
    assert [s.name for s in open_scenario(bundle).scenario.schedulers] == ["local", "spread"]


def test_what_cannot_be_done_is_one_line_and_a_list_without_items_says_so(folder, capsys):
    assert text(capsys, "saved", "list") == "Nothing is saved here.\n"
    assert "choose 1 to" in refusal(capsys, "saved", "export", "-o", folder / "x")
    assert "there is none" in refusal(capsys, "saved", "show", "Monday")
    save("Monday")
    save("Monday")
    assert "2 are called so; give one of" in refusal(capsys, "saved", "show", "Monday")
    assert "choose 2 to 4" in refusal(capsys, "saved", "compare", saved(capsys)[0].id)
    assert "it is not here" in refusal(capsys, "saved", "import", folder / "gone")
    (folder / "text").write_text("no archive")
    assert "File of saved items: it was cut short" in refusal(capsys, "saved", "import", folder / "text")
    (folder / "mine" / "saved.sqlite3").write_bytes(b"no database" * 100)
    for words in (["list"], ["delete", "Monday"], ["export", "-o", folder / "x"]):
        assert "it is damaged, or is not a database" in refusal(capsys, "saved", *words)


def test_settings_of_a_server_carry_the_store():
    assert store_folder({"NONA_DATA_DIR": "/a"}) == Path("/a")
    serving = Serving(Path("/a"), store=Path("/b"), shared_store=True)
    assert Serving.read(serving.environment()) == serving
    plain = Serving.read(Serving(Path("/a")).environment())
    assert (plain.store, plain.shared_store) == (None, False)
