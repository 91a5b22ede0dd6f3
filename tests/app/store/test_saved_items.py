"""Saved items: any sequence of operations gives what a dictionary would; each owner sees the own ones."""

import shutil
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule
from saved_things import FACTS, probe
from sizes import examples

from nona.app.store import store as operations
from nona.app.store.contents import clean_name, clean_note
from nona.app.store.database import Database
from nona.app.store.store import UNDO_S, ResultStore
from nona.core.errors import StoreError

OWNERS = ("ada", "bob")
PRINTABLE = st.characters(exclude_categories=("C", "Z"), include_characters=" ")
NAMES = st.text(PRINTABLE, min_size=1, max_size=20).filter(lambda t: bool(t.strip()))
NOTES = st.text(max_size=30)


@dataclass(frozen=True)
class Known:
    owner: str
    name: str
    note: str
    text: bytes


class Operations(RuleBasedStateMachine):
    """The store beside a dictionary."""

    alive, gone = Bundle("alive"), Bundle("gone")

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.time = datetime(2026, 1, 1, tzinfo=UTC)
        self.items = {}

    def teardown(self):
        shutil.rmtree(self.folder)

    def of(self, owner, **settings):
        return ResultStore(Database(self.folder), owner, now=self.tick, **settings)

    def tick(self):
        self.time += timedelta(seconds=1)
        return self.time

    @rule(target=alive, owner=st.sampled_from(OWNERS), name=NAMES, note=NOTES, text=st.binary(max_size=50))
    def save(self, owner, name, note, text):
        (saved,) = self.of(owner).save(probe(name, note, text))
        self.items[saved.id] = Known(owner, clean_name(name), clean_note(note), text)
        return saved.id

    @rule(item=alive, name=NAMES)
    def rename(self, item, name):
        known = self.items[item]
        self.items[item] = replace(known, name=clean_name(name))
        assert self.of(known.owner).rename(item, name).name == clean_name(name)

    @rule(item=alive, note=NOTES)
    def annotate(self, item, note):
        known = self.items[item]
        self.items[item] = replace(known, note=clean_note(note))
        self.of(known.owner).annotate(item, note)

    @rule(target=alive, item=alive, owner=st.sampled_from(OWNERS))
    def duplicate(self, item, owner):
        copy = self.of(owner, everyone=True).duplicate(item)
        known = self.items[item]
        self.items[copy.id] = Known(owner, f"{known.name} (copy)", known.note, known.text)
        return copy.id

    @rule(target=gone, item=consumes(alive))
    def delete(self, item):
        known = self.items.pop(item)
        self.of(known.owner).delete(item)
        return item, known

    @rule(target=alive, deleted=consumes(gone))
    def restore(self, deleted):
        item, known = deleted
        self.of(known.owner).restore(item)
        self.items[item] = known
        return item

    @rule(item=alive)
    def others_change_nothing(self, item):
        other = next(o for o in OWNERS if o != self.items[item].owner)
        for call in (self.of(other).find, self.of(other).contents, self.of(other).delete):
            with pytest.raises(StoreError, match="there is none"):
                call(item)
        seen = self.of(other, everyone=True)
        assert not seen.find(item).mine
        for change in (seen.delete, lambda i: seen.rename(i, "x"), lambda i: seen.annotate(i, "x")):
            with pytest.raises(StoreError, match="another user saved it"):
                change(item)

    @rule(item=alive)
    def contents_are_those_that_were_saved(self, item):
        known = self.items[item]
        contents = self.of(known.owner).contents(item)
        assert (contents.bundle, contents.result) == (b"bundle of " + known.text, known.text)

    @rule(word=st.sampled_from(["a", "GPT2", "nona", "b c", "zz"]))
    def search(self, word):
        found = {i.id for i in self.of("ada", master=True).listing(word).items}
        facts = "\n".join([FACTS.scenario, *FACTS.schedulers, *FACTS.models])
        expected = {
            key
            for key, k in self.items.items()
            if all(w in f"{k.name}\n{k.note}\n{facts}".casefold() for w in word.casefold().split())
        }
        assert found == expected

    @invariant()
    def lists_are_those_of_the_dictionary(self):
        for owner in OWNERS:
            found = self.of(owner).listing()
            assert found.unreadable == 0
            own = {(i.id, i.name, i.note) for i in found.items}
            assert own == {(k, v.name, v.note) for k, v in self.items.items() if v.owner == owner}
        every = self.of("nobody", everyone=True).listing().items
        assert {i.id for i in every} == self.items.keys()
        assert [i.saved_at for i in every] == sorted((i.saved_at for i in every), reverse=True)


Operations.TestCase.settings = examples(25, stateful_step_count=20)
TestOperations = Operations.TestCase


@pytest.fixture
def store(tmp_path):
    return ResultStore(Database(tmp_path / "data"), "ada")


def test_looking_writes_nothing_and_only_its_owner_may_read_the_file(store):
    assert store.listing().items == ()
    with pytest.raises(StoreError, match="there is none"):
        store.contents("0" * 16)
    assert not store.database.folder.exists()
    store.save(probe("a"))
    assert store.database.folder.stat().st_mode & 0o777 == 0o700
    assert all(p.stat().st_mode & 0o077 == 0 for p in store.database.folder.iterdir())


def test_a_deleted_item_can_be_restored_for_a_day_and_is_then_gone_from_the_file(tmp_path):
    time = datetime(2026, 1, 1, tzinfo=UTC)
    secret = "a secret that nobody finds " * 3

    def at(seconds):
        return ResultStore(Database(tmp_path), "ada", now=lambda: time + timedelta(seconds=seconds))

    (item,) = at(0).save(probe("a", secret))
    at(1).delete(item.id)
    with pytest.raises(StoreError, match="not deleted"):
        replace(at(2), owner="bob", everyone=True).restore(item.id)
    assert replace(at(2), owner="bob", master=True).restore(item.id).id == item.id
    at(UNDO_S).delete(item.id)
    with pytest.raises(StoreError, match="not deleted within a day"):
        at(2 * UNDO_S + 1).restore(item.id)
    assert secret.encode() not in Database(tmp_path).path.read_bytes()


def test_names_and_notes_are_text_that_can_be_shown(store):
    (item,) = store.save(probe(" \ud800 Monday\x00\u202e\npeak ", "one\x07 \n two\ud800 "))
    assert (item.name, item.note) == ("Monday peak", "one\ntwo")
    for call in (lambda: store.rename(item.id, "\x00 "), lambda: store.rename(item.id, "a" * 121)):
        with pytest.raises(StoreError, match="Name: "):
            call()


def test_limits_are_told(store, monkeypatch):
    store.save(probe("a"))
    monkeypatch.setattr(operations, "MOST_STORED", 2)
    with pytest.raises(StoreError, match="export some and delete them"):
        store.save(probe("b"), probe("c"))
    assert len(store.listing().items) == 1  # none of the two
    monkeypatch.setattr(operations, "MOST_BYTES", 60)
    with pytest.raises(StoreError, match="at most 2 with 60"):
        store.save(probe("b", text=bytes(range(60))))


def test_what_keeps_itself_is_bounded_gives_way_to_what_is_saved_and_is_seen_by_its_owner_alone(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(operations, "MOST_BY_ITSELF", 3)
    ada, bob = (ResultStore(Database(tmp_path), owner, everyone=True) for owner in OWNERS)
    kept = [ada.save(replace(probe(f"run {n}", text=bytes([n])), by_itself=True))[0] for n in range(5)]
    assert [item.name for item in ada.listing().items] == ["run 4", "run 3", "run 2"]
    assert bob.listing().items == ()
    (saved,) = ada.save(probe("Monday", text=bytes([3])))
    assert {item.name for item in ada.listing().items} == {"run 4", "Monday", "run 2"}
    assert [item.name for item in bob.listing().items] == ["Monday"]
    assert not ada.rename(kept[2].id, "Tuesday").by_itself
    assert not ada.keep(kept[4].id).by_itself
    ada.save(replace(probe("large", text=b"x" * 99), by_itself=True))
    monkeypatch.setattr(operations, "MOST_BY_ITSELF_BYTES", 1)
    ada.save(replace(probe("larger", text=b"y" * 99), by_itself=True))
    assert [item.name for item in ada.listing().items] == ["larger", "Monday", "run 4", "Tuesday"]
    assert not saved.by_itself
