"""Saved items as one file, hostile ones included, and several side by side."""

import io
import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from saved_things import new_item, probe, simulated
from sizes import examples

from nona.app.store.contents import SAVED_KINDS, Contents, SavedKind
from nona.app.store.database import Database
from nona.app.store.store import LIST_FILE as LISTED
from nona.app.store.store import MOST_IN_FILE as MOST_ITEMS
from nona.app.store.store import ResultStore, compare, export_items, import_items
from nona.core.errors import StoreError
from nona.scenario.file import scenario_from_mapping, scenario_to_mapping
from nona.scenario.lookup import Sources

GRAPH = {"directed": True, "nodes": [{"id": "a", "compute_ms": 3.0}], "edges": []}


@pytest.fixture
def store(tmp_path):
    return ResultStore(Database(tmp_path / "mine"), "ada")


@pytest.fixture
def other(tmp_path):
    return ResultStore(Database(tmp_path / "other"), "bob")


def exported(store):
    two, three = store.save(new_item("two", simulated(2)), new_item("three", simulated(3)))
    store.annotate(two.id, "a note\nof two lines")
    return export_items(store, [two.id, three.id])


def members_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def changed(data, change):
    """A file of saved items with other members; ``None`` leaves one out."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (members_of(data) | change).items():
            if content is not None:
                archive.writestr(name, content)
    return out.getvalue()


def test_what_was_exported_is_imported_equal(store, other):
    data = exported(store)
    items = import_items(other, data)
    assert [(i.name, i.note) for i in items] == [("two", "a note\nof two lines"), ("three", "")]
    assert all(i.imported for i in items)
    for mine, theirs in zip(store.listing().items[::-1], items, strict=True):
        assert theirs.facts == mine.facts
        assert other.contents(theirs.id) == store.contents(mine.id)
    assert other.contents(items[1].id).scenario() == simulated(3).scenario


def test_the_files_of_a_scenario_travel_with_it_and_another_of_the_same_name_is_a_difference(store, other):
    run = simulated()
    row = {"model": "own.json", "rate": "20/s", "slo": "40 ms"}
    scenario = scenario_from_mapping(scenario_to_mapping(run.scenario) | {"workload": [row]})
    texts = [json.dumps(graph).encode() for graph in (GRAPH, GRAPH | {"name": "x"})]
    with_file = run.model_copy(update={"scenario": scenario})
    items = [new_item("own", with_file, Sources(in_memory={"own.json": text})) for text in texts]
    ids = [item.id for item in store.save(*items)]
    assert compare(store, ids).scenario == ((), ("file own.json changed",))
    (found,) = import_items(other, export_items(store, ids[:1]))
    assert other.contents(found.id).opened().sources.read("own.json") == texts[0]


HOSTILE = {
    "no list": ({LISTED: None}, "holds no saved.json"),
    "a list that is no JSON": ({LISTED: b"[" * 200_000}, "its list is wrong"),
    "a result that is missing": ({"1.json": None}, "item 1: its file '1.json' is not there"),
    "a result that is no JSON": ({"1.json": b"[" * 200_000}, "item 1: Result of the simulation: this"),
    "a result of another kind": ({"1.json": b'{"mean": 1}'}, "item 1: Result of the simulation"),
    "a result that contradicts itself": ({}, "Result of the simulation"),
    "a list as result": ({"1.json": b"[]"}, "it is no object"),
    "a pickle": ({"1.json": b"\x80\x04cos\nsystem\n(S'true'\ntR."}, "item 1: Result of the simulation"),
    "a scenario that is no bundle": ({"2.nona.zip": b"version: 1"}, "item 2: its scenario is no bundle"),
    "a damaged scenario": ({"2.nona.zip": b"PK\x03\x04" + bytes(99)}, "item 2: Bundle: it was cut short"),
    "a kind that is not known": ({"kind": "stranger"}, "Kind of saved item 'stranger' is not known"),
    "no name": ({"name": ""}, "item 1: Name: it is empty"),
    "a long name": ({"name": "x" * 500}, "its list is wrong at items.0.name"),
    "a list as its own result": ({"result": LISTED}, "its file 'saved.json' is not there"),
    "a path": ({"scenario": "../../etc/passwd"}, "is not there"),
    "an owner": ({"owner": "ada"}, "its list is wrong at items.0.owner"),
    "a folder": ({"a/b": b""}, "is not the name of a plain file"),
    "a bomb": ({"1.json": bytes(60_000_000)}, "unpacks to more than 200 times its size"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_file_is_one_line_and_saves_nothing(store, other, what):
    (change, why), data = HOSTILE[what], exported(store)
    if what == "a result that contradicts itself":
        result = simulated().to_json()
        result["report"]["schedulers"]["local"] |= {"overloaded": True}
        result["report"]["schedulers"]["local"]["jct_s"]["mean"] = None
        change = {"1.json": json.dumps(result).encode()}
    elif not any("." in name or "/" in name for name in change):  # not a member, but an entry of the list
        entries = json.loads(members_of(data)[LISTED])
        entries["items"][0] |= change
        change = {LISTED: json.dumps(entries).encode()}
    with pytest.raises(StoreError, match=why) as refused:
        import_items(other, changed(data, change))
    assert "\n" not in str(refused.value)
    assert other.listing().items == ()


@examples(60)
@given(
    name=st.sampled_from([LISTED, "1.json", "1.nona.zip"]),
    flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=20),
    kept=st.floats(0.5, 1),
)
def test_any_damage_is_refused_or_harmless(name, flips, kept):
    with TemporaryDirectory() as folder:
        store = ResultStore(Database(Path(folder)), "ada", now=lambda: datetime(2026, 1, 1, tzinfo=UTC))
        data = exported(store)
        member = bytearray(members_of(data)[name])
        for where, byte in flips:
            member[int(where * len(member))] = byte
        hurt = changed(data, {name: bytes(member)})
        refused = ""
        try:
            import_items(store, hurt[: int(kept * len(hurt))] if kept < 0.9 else hurt)
        except StoreError as error:
            refused = str(error)
        assert "\n" not in refused
        found = store.listing()
        assert (len(found.items), found.unreadable) == (2 if refused else 4, 0)
        for item in found.items:
            assert item.facts == store.contents(item.id).facts()


def test_an_export_has_limits(store):
    for ids in ([], [str(n) for n in range(MOST_ITEMS + 1)]):
        with pytest.raises(StoreError, match=f"choose 1 to {MOST_ITEMS}"):
            export_items(store, ids)


def test_several_runs_are_compared_with_the_first(store):
    runs = [simulated(2), simulated(3), simulated(2, seed=2), simulated(2, schedulers=("spread",))]
    ids = [item.id for item in store.save(*(new_item(str(n), run) for n, run in enumerate(runs)))]
    found = compare(store, ids)
    assert found.scenario == ((), ("servers 2 → 3",), ("seed 1 → 2",), ("scheduler − local",))
    assert found.notes[0] == ""
    assert found.notes[1].startswith("Paired")
    assert "another seed" in found.notes[2]
    for row in found.answers:
        for run, value, change in zip(runs, row.values, row.changes, strict=True):
            if row.subject not in run.means:
                assert (value.mean, change.mean) == (None, None)
                continue
            if row.measure == "mean JCT":
                assert value.mean == pytest.approx(run.report.schedulers[row.subject].jct_s.mean)
            assert change.mean == pytest.approx((value.mean or 0.0) - (row.values[0].mean or 0.0), abs=1e-12)
            assert change.ci95[0] <= change.mean <= change.ci95[1]


def cancelled(run, replications):
    """The run as it was after so many replications of each scheduler."""
    means = {
        n: type(m)(**{k: getattr(m, k)[:replications] for k in type(m).model_fields})
        for n, m in run.means.items()
    }
    rows = {n: s.model_copy(update={"replications": replications}) for n, s in run.report.schedulers.items()}
    report = run.report.model_copy(update={"schedulers": rows})
    return run.model_copy(update={"means": means, "report": report, "ended_early_s": 180.0})


def test_a_cancelled_run_says_so_and_over_which_replications_it_is_compared(store):
    whole, early = simulated(2), cancelled(simulated(3), 1)
    items = store.save(new_item("whole", whole), new_item("early", early))
    assert [item.facts.finding.startswith("Cancelled") for item in items] == [False, True]
    assert items[1].facts.finding.startswith("Cancelled after 3 min, 1 of 3 replications. ")
    found = compare(store, [item.id for item in items])
    assert "over the first replication, which both have" in found.notes[1]
    row = next(row for row in found.answers if (row.subject, row.measure) == ("local", "mean JCT"))
    first = early.means["local"].jct_s[0] - whole.means["local"].jct_s[0]
    assert row.changes[1].mean == pytest.approx(first)
    assert row.changes[1].mean != pytest.approx(row.values[1].mean - row.values[0].mean)


def test_only_two_to_four_items_of_one_kind_are_compared(store):
    (run,) = store.save(new_item("a", simulated()))
    (odd,) = store.save(probe("b"))
    for ids in ([run.id], [run.id, run.id], list("abcde")):
        with pytest.raises(StoreError, match="choose 2 to 4"):
            compare(store, ids)
    with pytest.raises(StoreError, match="simulation and probe are different kinds"):
        compare(store, [run.id, odd.id])


def test_another_kind_is_a_registration(store, other):
    """What a plan will be: a kind with a result of its own."""
    kind = SavedKind("verdict", "verdict", "nona.core.document:ErrorRange", "test_saved_transfer:VERDICT")
    result = b'{"low_s": 1.0, "high_s": null}'
    item = probe("verdict")
    bundle = new_item("x", simulated()).contents.bundle
    with SAVED_KINDS.registered(kind):
        contents = Contents("verdict", bundle, result)
        (saved,) = store.save(type(item)("a", "", contents, contents.facts()))
        (found,) = import_items(other, export_items(store, [saved.id]))
        assert (found.kind, found.facts.finding) == ("verdict", "low 1.0")
    assert [i.kind for i in other.listing().items] == ["verdict"]  # listed also where the kind is not known
    with pytest.raises(StoreError, match="is not known"):
        other.contents(found.id).answer()


class VERDICT:
    @staticmethod
    def facts(result):
        from saved_things import FACTS

        return FACTS.model_copy(update={"finding": f"low {result.low_s}"})
