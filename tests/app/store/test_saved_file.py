"""The file of saved items: many writers, kills, damage, strangers, a full disk, older and newer versions."""

import errno
import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from saved_things import probe
from sizes import sized

from nona.app.store.database import APPLICATION_ID, FILE, MIGRATIONS, Database
from nona.app.store.store import ResultStore
from nona.core.errors import StoreError

HERE = Path(__file__).parent
WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
from saved_things import probe
from nona.app.store.database import Database
from nona.app.store.store import ResultStore
store = ResultStore(Database(Path(sys.argv[1])), sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    (item,) = store.save(probe(str(number), text=b"%d" % number * 20_000))
    print(item.id, flush=True)
"""


def writer(folder, owner, many):
    command = [sys.executable, "-c", WRITER.format(here=str(HERE)), str(folder), owner, str(many)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=HERE.parents[1], **pipes)  # closed by whoever asked for it


def begin(*processes):
    """Let writers go when all are ready; their outputs."""
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * len(processes)
    for process in processes:
        process.stdin.write("\n")
        process.stdin.close()
    return [process.stdout for process in processes]


def is_sound(folder):
    with closing(sqlite3.connect(folder / FILE)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.verify
def test_several_servers_write_at_once_from_the_first_moment(tmp_path):
    folder = tmp_path / "fresh"
    with ExitStack() as running:
        processes = [running.enter_context(writer(folder, owner, 15)) for owner in ("ada", "bob", "eve")]
        told = [output.read().split() for output in begin(*processes)]
        assert [process.wait() for process in processes] == [0, 0, 0]
    for owner, ids in zip(("ada", "bob", "eve"), told, strict=True):
        found = ResultStore(Database(folder), owner).listing().items
        assert [item.id for item in found] == ids[::-1]
        assert len(ids) == 15
    assert is_sound(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_killed_writer_loses_nothing_that_it_said_it_had_saved(tmp_path):
    chance, told = random.Random(4), []
    for _ in range(4):
        with writer(tmp_path, "ada", 10_000) as process:
            (output,) = begin(process)
            told += [output.readline().strip() for _ in range(chance.randint(1, 12))]
            process.send_signal(signal.SIGKILL)
            process.wait()
            told += output.read().split()  # said before the end
        store = ResultStore(Database(tmp_path), "ada")
        found = store.listing()
        assert found.unreadable == 0
        assert set(told) <= {item.id for item in found.items}
        for item in found.items:  # whole or not at all
            assert store.contents(item.id).result == item.name.encode() * 20_000
        assert is_sound(tmp_path)


def filled(folder):
    """A data base with a few items in one file, as it is after the last connection has closed."""
    store = ResultStore(Database(folder), "ada")
    for number in range(6):
        store.save(probe(f"item {number}", "note", os.urandom(3000)))
    return (folder / FILE).read_bytes()


def use(store):
    """Every operation; each may refuse, in one line."""
    refused = []

    def attempt(call):
        try:
            return call()
        except StoreError as error:
            refused.append(str(error))

    found = attempt(store.listing)
    for item in found.items if found else ():
        for call in (store.find, store.contents, store.duplicate, store.delete, store.restore):
            attempt(lambda call=call, item=item: call(item.id))
        attempt(lambda item=item: store.rename(item.id, "x"))
    attempt(lambda: store.save(probe("new")))
    assert not [line for line in refused if "\n" in line or not line.endswith(".") or len(line) > 700]


@pytest.mark.sized
def test_whatever_happens_to_the_file_is_one_line(tmp_path):
    whole, chance = filled(tmp_path / "whole"), random.Random(7)
    for trial in range(sized(15, 60)):
        data = bytearray(whole)
        if trial % 3 == 0:
            data = data[: chance.randrange(len(data))]
        for _ in range(chance.choice([0, 1, 30, 2000]) if trial % 3 else 0):
            data[chance.randrange(len(data))] = chance.randrange(256)
        folder = tmp_path / str(trial)
        folder.mkdir()
        (folder / FILE).write_bytes(data)
        use(ResultStore(Database(folder), "ada"))


with closing(sqlite3.connect(":memory:")) as other:
    other.execute("CREATE TABLE items (id TEXT)")
    FOREIGN = other.serialize()
DAMAGED = (b"{}" * 900, bytes(5000), b"x", b"SQLite format 3\0" + bytes(4080))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        *((data, r"it is damaged, or is not a database.*put a copy") for data in DAMAGED),
        (FOREIGN, r"another program wrote it; name another folder"),
    ],
)
def test_a_file_that_is_not_ours_is_refused_and_stays(tmp_path, data, why):
    (tmp_path / FILE).write_bytes(data)
    store = ResultStore(Database(tmp_path), "ada")
    for call in (store.listing, lambda: store.save(probe("a"))):
        with pytest.raises(StoreError, match=why):
            call()
    assert (tmp_path / FILE).read_bytes() == data


def test_what_is_no_file_is_refused(tmp_path):
    (tmp_path / FILE).mkdir()
    with pytest.raises(StoreError, match="it is no file"):
        ResultStore(Database(tmp_path), "a").listing()
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        store = ResultStore(Database(folder), "a")
        for call in (store.listing, lambda store=store: store.save(probe("a"))):  # never an empty list
            with pytest.raises(StoreError, match=r"it cannot be used \("):
                call()


@pytest.mark.parametrize(
    ("name", "number", "told", "call"),
    [
        ("lstat", errno.EACCES, r"\(Permission denied\); make the file and its folder", ResultStore.listing),
        ("open", errno.ENOSPC, "No space left on device", lambda store: store.save(probe("a"))),
    ],
)
def test_a_file_out_of_reach_is_not_called_empty(name, number, told, call, monkeypatch, tmp_path):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    for place in (Path, os):
        monkeypatch.setattr(place, name, refuse)
    with pytest.raises(StoreError, match=told):
        call(ResultStore(Database(tmp_path), "a"))


def test_a_file_that_may_only_be_read_is_refused_and_says_what_to_do(tmp_path):
    before = filled(tmp_path)

    def write():
        with Database(tmp_path).writing() as connection:
            connection.execute("PRAGMA query_only = ON")  # fails as a file that may only be read
            connection.execute("DELETE FROM items")

    with pytest.raises(StoreError, match=r"readonly database\); make the file and its folder writable"):
        write()
    assert (tmp_path / FILE).read_bytes() == before


def test_a_full_disk_refuses_the_item_and_keeps_the_others(tmp_path):
    store = ResultStore(Database(tmp_path, most_pages=40), "ada")
    kept = []

    def fill():
        while len(kept) < 100:
            kept.extend(store.save(probe("a", text=os.urandom(20_000))))

    with pytest.raises(StoreError, match=r"cannot be read and written \(.*full\); free space there"):
        fill()
    assert kept
    assert {item.id for item in store.listing().items} == {item.id for item in kept}


LATER = (*MIGRATIONS, ("ALTER TABLE items ADD COLUMN mark TEXT NOT NULL DEFAULT 'none'",))


def test_an_older_schema_migrates_with_its_items_and_what_fails_changes_nothing(tmp_path):
    filled(tmp_path)
    before = ResultStore(Database(tmp_path), "ada").listing()
    broken = (*MIGRATIONS, ("ALTER TABLE items ADD COLUMN mark TEXT", "ALTER TABLE absent ADD COLUMN x"))
    with pytest.raises(StoreError, match="no such table"):
        ResultStore(Database(tmp_path, broken), "ada").listing()
    assert ResultStore(Database(tmp_path), "ada").listing() == before
    later = ResultStore(Database(tmp_path, LATER), "ada")
    assert later.listing() == before
    with later.database.writing() as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(LATER),)
        assert connection.execute("SELECT DISTINCT mark FROM items").fetchall() == [("none",)]
    with pytest.raises(StoreError, match=r"its version is 3, and this program knows 2; install"):
        ResultStore(Database(tmp_path), "ada").save(probe("b"))
    assert ResultStore(Database(tmp_path, LATER), "ada").listing() == before


def test_the_first_schema_never_changes(tmp_path):
    """What released versions wrote must stay readable: a change is a further entry."""
    filled(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE)) as file:
        columns = [row[1] for row in file.execute("PRAGMA table_info(items)")]
        assert file.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    names = "id owner kind name note saved_at imported deleted_at size_bytes facts scenario result"
    assert " ".join(columns) == f"{names} by_itself"
