"""MIG editing: whatever is clicked, the layout stays legal; and every legal layout can be reached."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import HardwareError
from nona.hardware.mig import Slice, board, boards, legal_layouts, parse_layout
from nona.hardware.mig_layouts import (
    add_slice,
    empty_layout,
    layout_of,
    options_at,
    placed_text,
    remove_slice,
    why_not,
)


def is_legal(whole, placed):
    """Straight from the placement table: starts, cells, compute slices, instances of each profile."""
    profiles = [(start, whole.profile(name)) for start, name in placed]
    cells = [c for start, p in profiles for c in range(start, start + p.memory_slices)]
    counts = Counter(name for _, name in placed)
    return (
        all(start in p.starts for start, p in profiles)
        and len(cells) == len(set(cells))
        and all(0 <= c < whole.memory_slices for c in cells)
        and sum(p.compute_slices for _, p in profiles) <= whole.compute_slices
        and all(n <= whole.profile(name).max_instances for name, n in counts.items())
    )


def pairs(layout):
    return tuple((s.start, s.profile) for s in layout.slices)


@examples(120)
@given(
    st.sampled_from(sorted(boards())), st.lists(st.tuples(st.integers(-1, 9), st.integers(0, 7)), max_size=12)
)
def test_every_layout_that_clicks_lead_to_is_legal(name, clicks):
    whole, layout = board(name), empty_layout(name)
    for start, choice in clicks:
        offered = options_at(layout, start)
        wanted = {p.name for p in whole.profiles if is_legal(whole, (*pairs(layout), (start, p.name)))}
        assert {p.name for p in offered} == wanted
        if any(s.start == start for s in layout.slices):
            layout = remove_slice(layout, start)
        elif offered:
            layout = add_slice(layout, start, offered[choice % len(offered)].name)
        assert is_legal(whole, pairs(layout))
        assert layout_of(placed_text(layout), name) == layout


@pytest.mark.parametrize("name", ["a100-40gb", "a30"])
def test_editing_reaches_exactly_the_legal_layouts(name):
    whole = board(name)
    reached, open_ = {empty_layout(name)}, [empty_layout(name)]
    while open_:
        layout = open_.pop()
        for start in range(whole.memory_slices):
            for profile in options_at(layout, start):
                more = add_slice(layout, start, profile.name)
                if more not in reached:
                    reached.add(more)
                    open_.append(more)
    assert reached - {empty_layout(name)} == set(legal_layouts(name, extended=True))


def test_no_set_of_two_instances_is_refused_wrongly():
    whole = board("a100-40gb")
    places = [(start, p.name) for p in whole.profiles for start in p.starts]
    for first, second in combinations(places, 2):
        layout = add_slice(empty_layout("a100-40gb"), *first)
        legal = is_legal(whole, (first, second))
        assert (why_not(layout, second[0], whole.profile(second[1])) == "") == legal
        if not legal:
            with pytest.raises(HardwareError) as caught:
                add_slice(layout, *second)
            assert "\n" not in str(caught.value)


def test_a_place_that_was_chosen_is_kept_and_a_wrong_one_refused():
    assert parse_layout("1g.5gb@6, 3g.20gb@0", "a100-40gb").slices == (
        Slice(0, "3g.20gb"),
        Slice(6, "1g.5gb"),
    )
    assert parse_layout("1g.5gb@6, 3g.20gb", "a100-40gb").slices[-1] == Slice(6, "1g.5gb")
    for text in ("4g.20gb@4", "1g.5gb@7", "1g.5gb@3, 1g.5gb@3", "3g.20gb@0, 2g.10gb@2"):
        with pytest.raises(HardwareError, match="cannot be placed"):
            parse_layout(text, "a100-40gb")


def test_removing_what_is_not_there_is_an_error():
    with pytest.raises(HardwareError, match="no instance starts at memory slice 1"):
        remove_slice(parse_layout("2g.10gb", "a100-40gb"), 1)
    assert remove_slice(parse_layout("2g.10gb", "a100-40gb"), 0) == empty_layout("a100-40gb")
    with pytest.raises(HardwareError, match="no such profile"):
        add_slice(empty_layout("a30"), 0, "3g.20gb")
