"""MIG: layouts, reading, editing and mig-parted files against the placement table and NVIDIA's figures."""

from collections import Counter
from itertools import combinations, combinations_with_replacement

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples, sized

from nona.cluster.hardware import mig, mig_parted
from nona.cluster.hardware.device import devices
from nona.core.errors import HardwareError

A100, A30 = "a100-40gb", "a30"
ALL_A100 = mig.legal_layouts(A100, extended=True)
# The 14 multisets of compute slices that the user guide draws for a board of seven slices.
DRAWN = "7 43 421 4111 33 322 3211 321 31111 3111 2221 22111 211111 1111111"


def refusal(call, *given):
    with pytest.raises(HardwareError) as caught:
        call(*given)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    return str(caught.value)


def is_legal(whole, placed):
    """Straight from the placement table: starts, cells, compute slices, instances of each profile."""
    profiles = [(start, whole.profile(name)) for start, name in placed]
    cells = [c for start, p in profiles for c in range(start, start + p.memory_slices)]
    counts = Counter(name for _, name in placed)
    media = sum("+me" in name for _, name in placed)
    return (
        media <= 1  # a board has one set of media engines, NVIDIA's MIG user guide
        and all(start in p.starts for start, p in profiles)
        and len(cells) == len(set(cells))
        and all(0 <= c < whole.memory_slices for c in cells)
        and sum(p.compute_slices for _, p in profiles) <= whole.compute_slices
        and all(n <= whole.profile(name).max_instances for name, n in counts.items())
    )


def brute_force(whole):
    """All legal non-empty sets of standard slices, from every subset of single placements."""
    singles = [(start, p.name) for p in whole.profiles if p.standard for start in p.starts]
    sizes = range(1, whole.compute_slices + 1)
    return {
        frozenset(chosen) for n in sizes for chosen in combinations(singles, n) if is_legal(whole, chosen)
    }


def placed(layout):
    return tuple((s.start, s.profile) for s in layout.slices)


@pytest.mark.parametrize("name", [A100, A30])
def test_enumeration_equals_brute_force(name):
    expected = brute_force(mig.board(name))
    layouts = [frozenset(placed(m)) for m in mig.legal_layouts(name)]
    assert len(layouts) == len(set(layouts))
    assert set(layouts) == expected
    maximal = {s for s in expected if not any(s < t for t in expected)}
    assert {frozenset(placed(m)) for m in mig.maximal_layouts(name)} == maximal


@pytest.mark.parametrize("name", [n for n, d in devices().items() if d.mig])
def test_maximal_layouts_are_those_that_are_drawn_and_have_no_more_memory_than_the_gpu(name):
    device, layouts = devices()[name], mig.maximal_layouts(str(devices()[name].mig))
    for layout in layouts:
        assert sum(p.memory_bytes for p in layout.profiles) <= device.memory_bytes, layout.text
    slices = [sorted((str(p.compute_slices) for p in m.profiles), reverse=True) for m in layouts]
    if mig.board(str(device.mig)).compute_slices == 7:
        assert len(layouts) == 19
        assert {"".join(found) for found in slices} == set(DRAWN.split())


def test_stranded_is_what_no_completion_uses():
    whole = mig.board(A100)
    expected = brute_force(whole)
    for layout in mig.legal_layouts(A100)[::7]:
        larger = [t for t in expected if frozenset(placed(layout)) <= t]
        used = max(sum(whole.profile(n).compute_slices for _, n in t) for t in larger)
        memory = max(sum(whole.profile(n).memory_slices for _, n in t) for t in larger)
        assert layout.stranded_compute == 7 - used
        assert layout.stranded_memory == 8 - memory
        assert layout.maximal == (len(larger) == 1)
    dead = {m.text for m in mig.maximal_layouts(A100) if m.stranded_compute}
    assert dead == {"3g.20gb, 3g.20gb", "3g.20gb, 2g.10gb, 1g.5gb", "3g.20gb, 1g.5gb, 1g.5gb, 1g.5gb"}


@pytest.mark.sized
@pytest.mark.parametrize("name", [A100, A30])
def test_parse_accepts_exactly_the_legal_sets_and_totals_decide(name):
    whole = mig.board(name)
    counts = [Counter(s.profile for s in m.slices) for m in mig.legal_layouts(name, extended=True)]
    legal = {frozenset(c.items()) for c in counts}
    for size in range(1, sized(3, 5)):
        for chosen in combinations_with_replacement(whole.profiles, size):
            count, text = Counter(p.name for p in chosen), "; ".join(p.name for p in chosen)
            fits = (
                sum(p.compute_slices for p in chosen) <= whole.compute_slices
                and sum(p.memory_slices for p in chosen) <= whole.memory_slices
                and all(count[p.name] <= p.max_instances for p in chosen)
                and sum("+me" in p.name for p in chosen) <= 1
            )
            assert fits == (frozenset(count.items()) in legal)
            if not fits:
                assert refusal(mig.parse_layout, text, name)
                continue
            layout = mig.parse_layout(text, name)
            assert Counter(s.profile for s in layout.slices) == count
            assert mig.parse_layout("; ".join(p.name for p in chosen[::-1]), name) == layout
            cells = layout.memory_map
            assert all(cells.count(i) == p.memory_slices for i, p in enumerate(layout.profiles))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("4g.20gb, 4g.20gb", "at most 1"),
        ("3g.20gb, 3g.20gb, 2g.10gb", "8 of 7 compute slices"),
        ("1g.10gb, 1g.10gb, 1g.10gb, 1g.10gb, 1g.5gb", "9 of 8 memory slices"),
        ("3g.40gb", "belongs to a100-80gb"),
        ("5g.20gb", "no slice '5g.20gb'"),
        ("", "names no slice"),
        ("1g.5gb+me, 1g.5gb+me", "at most 1"),
        (", ".join(["1g.5gb"] * 65), "name fewer"),
        *((text, "cannot be placed") for text in ("4g.20gb@4", "1g.5gb@7", "1g.5gb@3, 1g.5gb@3")),
        ("3g.20gb@0, 2g.10gb@2", "cannot be placed"),
    ],
)
def test_illegal_layouts_say_why(text, why):
    assert why in refusal(mig.parse_layout, text, A100)


@pytest.mark.parametrize(
    ("name", "profile", "gib", "sms"),  # nvidia-smi mig -lgip, see sources.csv
    [
        ("h200-141gb", "1g.18gb", 16.0, 16),
        ("h200-141gb", "1g.35gb", 32.25, 26),
        ("h200-141gb", "7g.141gb", 139.75, 132),
        ("b200-180gb", "1g.45gb", 44.25, 30),
        ("h100-94gb", "1g.12gb", 10.75, 16),
        ("h100-pcie-80gb", "3g.40gb", 39.5, 46),
        ("gh200-96gb", "7g.96gb", 93.0, 132),
        ("rtx-pro-6000-96gb", "2g.48gb+gfx", 47.375, 94),
        ("h20-96gb", "1g.12gb", 11.75, 8),
        ("b300-269gb", "1g.34gb", 33.75, 18),
    ],
)
def test_profiles_are_what_nvidia_smi_lists(name, profile, gib, sms):
    found = mig.board(name).profile(profile)
    assert (found.memory_bytes / 1e9, found.sms) == (gib, sms)
    assert "places of all" in mig.assumed(name) or name == "h100-94gb"


def test_a_board_where_the_totals_fit_but_the_slices_overlap(monkeypatch):
    wide = mig.SliceProfile("wide", 1, 2, (1,), 1, 1, 1.0, True, "yes")
    end = mig.SliceProfile("end", 1, 1, (2,), 1, 1, 1.0, True, "yes")
    monkeypatch.setattr("nona.cluster.hardware.mig.board", lambda name: mig.MigBoard(name, 4, 4, (wide, end)))
    assert "cannot be placed on the board 'odd' without overlap" in refusal(
        mig.parse_layout, "wide, end", "odd"
    )
    assert mig.parse_layout("wide", "odd").slices[0].start == 1


clicks = st.lists(st.tuples(st.integers(-1, 9), st.integers(0, 7)), max_size=12)


@examples(50)
@given(st.sampled_from(sorted(mig.boards())), clicks)
def test_every_layout_that_clicks_lead_to_is_legal(name, clicks):
    whole, layout = mig.board(name), mig.empty_layout(name)
    for start, choice in clicks:
        offered = mig.options_at(layout, start)
        wanted = {p.name for p in whole.profiles if is_legal(whole, (*placed(layout), (start, p.name)))}
        assert {p.name for p in offered} == wanted
        profile = whole.profiles[choice % len(whole.profiles)].name
        assert profile in wanted or refusal(mig.add_slice, layout, start, profile)
        if any(s.start == start for s in layout.slices):
            layout = mig.remove_slice(layout, start)
        elif offered:
            layout = mig.add_slice(layout, start, offered[choice % len(offered)].name)
        assert is_legal(whole, placed(layout))
        assert mig.layout_of(mig.placed_text(layout), name) == layout


@pytest.mark.parametrize("name", [A100, A30])
def test_editing_reaches_exactly_the_legal_layouts(name):
    whole = mig.board(name)
    reached, open_ = {mig.empty_layout(name)}, [mig.empty_layout(name)]
    while open_:
        layout = open_.pop()
        starts = range(whole.memory_slices)
        clicks = [(start, p.name) for start in starts for p in mig.options_at(layout, start)]
        following = {mig.add_slice(layout, *click) for click in clicks}
        open_ += following - reached
        reached |= following
    assert reached - {mig.empty_layout(name)} == set(mig.legal_layouts(name, extended=True))


def test_removing_what_is_not_there_is_an_error():
    layout = mig.parse_layout("2g.10gb", A100)
    assert "no slice starts at memory slice 1" in refusal(mig.remove_slice, layout, 1)
    assert mig.remove_slice(layout, 0) == mig.empty_layout(A100)
    assert mig.parse_layout("1g.5gb@6, 3g.20gb", A100).slices[-1] == mig.Slice(6, "1g.5gb"), "a place is kept"
    assert "no such profile" in refusal(mig.add_slice, mig.empty_layout(A30), 0, "3g.20gb")


def counts(layouts):
    return [layout and Counter(layout.profiles) for layout in layouts]


@examples(60)
@given(st.data())
def test_a_written_mig_parted_file_has_the_slices_of_every_gpu(data):
    gpus = data.draw(st.integers(1, 8))
    layouts = st.lists(st.sampled_from((None, *ALL_A100)), min_size=gpus, max_size=gpus)
    chosen = data.draw(st.lists(layouts.filter(any), min_size=1, max_size=4))
    named = {f"layout-{i}": each for i, each in enumerate(chosen)}
    found = mig_parted.read_mig_parted(mig_parted.write_mig_parted(named).encode(), A100, gpus)
    assert not found.left_out
    assert {n: counts(each) for n, each in found.layouts.items()} == {n: counts(m) for n, m in named.items()}


@examples(60)
@given(st.lists(st.sampled_from(ALL_A100), min_size=1, max_size=4))
def test_slices_of_several_gpus_are_divided_among_them(chosen):
    together = Counter(s.profile for layout in chosen for s in layout.slices)
    found = mig.divided_among(together, A100, len(chosen))
    assert len(found) == len(chosen)
    assert Counter(s.profile for layout in found for s in layout.slices) == together
    assert all(is_legal(mig.board(A100), placed(layout)) for layout in found)
    assert mig.divided_among(together + Counter({"7g.40gb": len(chosen)}), A100, len(chosen)) == ()


def test_the_file_is_what_mig_parted_reads():
    slices = {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}
    entry = {"devices": "all", "mig-enabled": True, "mig-devices": slices}
    plain = yaml.safe_load(
        mig_parted.write_mig_parted(
            {"balanced": [mig.parse_layout("3g.20gb, 2g.10gb, 1g.5gb, 1g.5gb", A100)]}
        )
    )
    assert plain == {"version": "v1", "mig-configs": {"balanced": [entry]}}
    assert "rename it" in refusal(mig_parted.write_mig_parted, {"a\nb": [ALL_A100[0]]})


def test_a_file_for_several_boards_gives_what_fits_this_one():
    text = """
version: v1
mig-configs:
  all-disabled: [{devices: all, mig-enabled: false}]
  all-enabled: [{devices: all, mig-enabled: true, mig-devices: {}}]
  all-1g: # as in NVIDIA's config-default.yaml: the PCI ids are those of the 80 GB and of the 40 GB board
    - {device-filter: ["0x233010DE", "0x20B210DE"], mig-enabled: true, mig-devices: {"1g.10gb": 3}}
    - {device-filter: "0x20B010DE", mig-enabled: true, mig-devices: {"1g.10gb": 2}}
  all-1g.10gb: [{devices: all, mig-enabled: true, mig-devices: {"1g.10gb": 7}}]
  all-balanced:
    - {devices: all, mig-enabled: true, mig-devices: {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}}
    - {devices: all, mig-enabled: true, mig-devices: {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}}
  custom:
    - {devices: [0], mig-enabled: true, mig-devices: {"3g.20gb": 2}}
    - {devices: [1], mig-enabled: true, mig-devices: {"1g.5gb": 7}}
"""
    found = mig_parted.read_mig_parted(text, A100)
    assert {n: m.text for n, (m,) in found.layouts.items()} == {
        "all-1g": "1g.10gb, 1g.10gb",
        "all-balanced": "3g.20gb, 2g.10gb, 1g.5gb, 1g.5gb",
        "custom [1]": "3g.20gb, 3g.20gb",
        "custom [2]": ", ".join(["1g.5gb"] * 7),
    }
    assert "entry 1: " in found.left_out["all-1g.10gb"]
    assert "at most 4" in found.left_out["all-1g.10gb"]
    assert "all-1g" not in found.left_out
    service = {"kind": "ServiceAccount", "metadata": {"name": "x"}}
    held = [service, {"kind": "ConfigMap", "data": {"clients.yaml": "a: 1", "config.yaml": text}}]
    assert mig_parted.read_mig_parted(yaml.safe_dump_all(held), A100) == found
    by_number = mig_parted.read_mig_parted(text, A100, 3).layouts["custom"]
    assert [m and m.text for m in by_number] == ["3g.20gb, 3g.20gb", ", ".join(["1g.5gb"] * 7), None]
    (larger,) = mig_parted.read_mig_parted(text, "a100-80gb").layouts["all-1g.10gb"]
    assert [c.start for c in larger.slices] == list(range(7))


def one(entry):
    return f"version: v1\nmig-configs: {{a: [{{{entry}}}]}}\n"


def listed(devices):
    return one(f"mig-enabled: true, mig-devices: {{{devices}}}")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("version: v1\nmig-configs: &a\n  x: [{mig-enabled: true}]\n  y: *a\n", ""),
        ("a: &a [1, 2]\nb: [*a, *a]\nversion: v1\nmig-configs: {}\n", "alias"),
        ("!!python/object/apply:os.system ['echo hi']", ""),
        ("version: [v1\nmig-configs", "not YAML"),
        ("version: v1\n", "missing"),
        ("version: v9\nmig-configs: {a: []}\n", "must be 'v1'"),
        ("version: v1\nmig-configs: {a: 5}\n", "list of entries"),
        (one("devices: all"), "true or false"),
        (one("mig-enabled: true"), "must map profiles"),
        (listed(""), "add a profile"),
        (one('devices: [x], mig-enabled: true, mig-devices: {"1g.5gb": 1}'), "list of numbers"),
        (one('devices: [99], mig-enabled: true, mig-devices: {"1g.5gb": 1}'), "from 0 to 63"),
        (
            one('mig-enabled: true, device-filter: "0x20B710DE", mig-devices: {"1g.6gb": 4}'),
            "for other devices",
        ),
        (listed('"1g.5gb": 1000000000'), "whole number"),
        (listed('"1g.5gb; rm": 1'), "is not a profile"),
        (listed('"9g.90gb": 1'), "no slice '9g.90gb'"),
        (listed('"3g.20gb": 2, "1g.5gb": 1'), "it needs 9"),
        (one("mig-enabled: false"), "no configuration enables MIG"),
        ("[" * 100_000, "nested deeper"),
        (b"x" * (mig_parted.MOST_BYTES + 1), "more than"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b"", "mig-configs"),
    ],
)
def test_hostile_files_are_refused_in_one_line(data, why):
    assert why in refusal(mig_parted.read_mig_parted, data, A100)


@examples(120)
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_with_one_line(text):
    for given_text in (text, f"version: v1\nmig-configs: {text}"):
        told = ""
        try:
            mig_parted.read_mig_parted(given_text, A30)
        except HardwareError as error:
            told = str(error)
        assert len(told.splitlines()) <= 1
