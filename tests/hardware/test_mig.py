"""MIG layouts against a second, brute-force enumeration and NVIDIA's published combinations."""

from collections import Counter
from itertools import combinations, combinations_with_replacement, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import HardwareError
from nona.hardware.device import devices
from nona.hardware.mig import (
    Board,
    MigLayout,
    Profile,
    board,
    boards,
    legal_layouts,
    maximal_layouts,
    parse_layout,
)

# The 14 multisets of compute slices that the user guide draws for a board of seven slices.
SEVEN_SLICE_SETS = {
    (7,),
    (4, 3),
    (4, 2, 1),
    (4, 1, 1, 1),
    (3, 3),
    (3, 2, 2),
    (3, 2, 1, 1),
    (3, 2, 1),
    (3, 1, 1, 1, 1),
    (3, 1, 1, 1),
    (2, 2, 2, 1),
    (2, 2, 1, 1, 1),
    (2, 1, 1, 1, 1, 1),
    (1, 1, 1, 1, 1, 1, 1),
}


def brute_force(whole):
    """All legal non-empty sets of standard slices, from every subset of single placements."""
    singles = [(start, p) for p in whole.profiles if p.standard for start in p.starts]
    legal = set()
    for size in range(1, whole.compute_slices + 1):
        for chosen in combinations(singles, size):
            cells = [c for start, p in chosen for c in range(start, start + p.memory_slices)]
            compute = sum(p.compute_slices for _, p in chosen)
            count = Counter(p.name for _, p in chosen)
            if (
                len(set(cells)) == len(cells)
                and compute <= whole.compute_slices
                and all(n <= whole.profile(name).max_instances for name, n in count.items())
            ):
                legal.add(frozenset((start, p.name) for start, p in chosen))
    return legal


@pytest.mark.parametrize("name", [n for n, d in devices().items() if d.mig])
def test_slices_have_together_no_more_memory_than_the_gpu(name):
    """In figures of one kind: a layout had 419 GB where the GPUs had 400."""
    device = devices()[name]
    for layout in maximal_layouts(str(device.mig)):
        assert sum(p.memory_bytes for p in layout.profiles) <= device.memory_bytes, layout.text


@pytest.mark.parametrize("name", ["a100-40gb", "a30"])
def test_enumeration_equals_brute_force(name):
    expected = brute_force(board(name))
    layouts = [frozenset((s.start, s.profile) for s in m.slices) for m in legal_layouts(name)]
    assert len(layouts) == len(set(layouts))
    assert set(layouts) == expected
    maximal = {s for s in expected if not any(s < t for t in expected)}
    assert {frozenset((s.start, s.profile) for s in m.slices) for m in maximal_layouts(name)} == maximal


@pytest.mark.parametrize("name", [n for n, b in boards().items() if b.compute_slices == 7])
def test_seven_slice_boards_have_nineteen_maximal_layouts(name):
    layouts = maximal_layouts(name)
    assert len(layouts) == 19
    sets = {tuple(sorted((p.compute_slices for p in m.profiles), reverse=True)) for m in layouts}
    assert sets == SEVEN_SLICE_SETS


def test_a30_maximal_layouts():
    sets = Counter(tuple(sorted(p.compute_slices for p in m.profiles)) for m in maximal_layouts("a30"))
    assert sets == {(4,): 1, (2, 2): 1, (1, 1, 2): 2, (1, 1, 1, 1): 1}


def test_dead_layouts_strand_a_compute_slice():
    dead = {m.text for m in maximal_layouts("a100-40gb") if m.stranded_compute}
    assert dead == {"3g.20gb, 3g.20gb", "3g.20gb, 2g.10gb, 1g.5gb", "3g.20gb, 1g.5gb, 1g.5gb, 1g.5gb"}


def test_stranded_is_what_no_completion_uses():
    expected = brute_force(board("a100-40gb"))
    whole = board("a100-40gb")
    for layout in legal_layouts("a100-40gb")[::7]:
        own = frozenset((s.start, s.profile) for s in layout.slices)
        larger = [t for t in expected if own <= t]
        compute = max(sum(whole.profile(n).compute_slices for _, n in t) for t in larger)
        memory = max(sum(whole.profile(n).memory_slices for _, n in t) for t in larger)
        assert layout.stranded_compute == 7 - compute
        assert layout.stranded_memory == 8 - memory
        assert layout.maximal == (larger == [own])


def test_parse_finds_a_placement_in_any_order():
    for names in set(permutations(["3g.20gb", "2g.10gb", "1g.5gb", "1g.5gb"])):
        layout = parse_layout(", ".join(names), "a100-40gb")
        assert layout.text == "3g.20gb, 2g.10gb, 1g.5gb, 1g.5gb"
        assert layout.stranded_compute == 0


@examples(60)
@given(st.lists(st.sampled_from([p.name for p in board("a100-40gb").profiles]), min_size=1, max_size=5))
def test_parse_accepts_exactly_the_legal_sets(names):
    wanted = Counter(names)
    possible = any(
        Counter(s.profile for s in m.slices) == wanted for m in legal_layouts("a100-40gb", extended=True)
    )
    if not possible:
        with pytest.raises(HardwareError) as caught:
            parse_layout("; ".join(names), "a100-40gb")
        assert "\n" not in str(caught.value)
        return
    layout = parse_layout("; ".join(names), "a100-40gb")
    assert Counter(s.profile for s in layout.slices) == wanted
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
    ],
)
def test_illegal_layouts_say_why(text, why):
    with pytest.raises(HardwareError, match=why):
        parse_layout(text, "a100-40gb")


def test_totals_decide_on_the_shipped_boards():
    for name in ("a100-40gb", "a30"):
        whole = board(name)
        for size in range(1, 4):
            for chosen in combinations_with_replacement(whole.profiles, size):
                count = Counter(chosen)
                fits = (
                    sum(p.compute_slices for p in chosen) <= whole.compute_slices
                    and sum(p.memory_slices for p in chosen) <= whole.memory_slices
                    and all(n <= p.max_instances for p, n in count.items())
                )
                assert _parses(", ".join(p.name for p in chosen), name) == fits


def _parses(text, name):
    try:
        parse_layout(text, name)
    except HardwareError:
        return False
    return True


def test_a_board_where_the_totals_fit_but_the_slices_overlap(monkeypatch):
    wide = Profile("wide", 1, 2, (1,), 1, 1, 1.0, True, "yes")
    end = Profile("end", 1, 1, (2,), 1, 1, 1.0, True, "yes")
    monkeypatch.setattr("nona.hardware.mig.board", lambda name: Board(name, 4, 4, (wide, end)))
    with pytest.raises(HardwareError, match="cannot be placed on the board 'odd' without overlap"):
        parse_layout("wide, end", "odd")
    assert parse_layout("wide", "odd").slices[0].start == 1


def test_text_is_read_back():
    for layout in maximal_layouts("h100-80gb"):
        again = parse_layout(layout.text, "h100-80gb")
        assert isinstance(again, MigLayout)
        assert Counter(again.profiles) == Counter(layout.profiles)
