"""The automaton of MIG slices: every reachable state, held against exhaustive lists of layouts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache

import pytest

from nona.gpu_sharing.slices import BoardState, Instances, board_states, idle_instances
from nona.hardware.mig import MigLayout, Slice, legal_layouts, maximal_layouts, parse_layout

A100 = "a100-40gb"


def reachable(board_name: str, sizes: Collection[int], start: Instances = ()) -> Iterator[BoardState]:
    """Every state that takes of these sizes and releases lead to."""
    states = board_states(board_name)
    seen, todo = {start}, [start]
    while todo:
        state = states.at(todo.pop())
        yield state
        after = [state.steps[k].after for k in sizes if k in state.steps]
        for instances in [*after, *state.after_release.values()]:
            if instances not in seen:
                seen.add(instances)
                todo.append(instances)


def held(state: BoardState) -> tuple[Slice, ...]:
    return tuple(Slice(i.start, i.profile) for i in state.instances if i.held)


@cache
def stranded(layout: MigLayout) -> int:
    return layout.stranded_compute


def size_of(board_name: str, piece: Slice) -> int:
    return MigLayout(board_name, (piece,)).profiles[0].compute_slices


@pytest.mark.parametrize(("board_name", "sizes"), [(A100, (1, 2, 3, 4, 7)), ("a30", (1, 2, 4))])
def test_reachable_states_are_legal_and_offer_whatever_a_legal_layout_allows(
    board_name: str, sizes: tuple[int, ...]
) -> None:
    legal = {layout.slices for layout in legal_layouts(board_name)}
    more = {
        (rest, size_of(board_name, piece))
        for slices in legal
        for piece in slices
        for rest in [tuple(s for s in slices if s != piece)]
    }
    for state in reachable(board_name, sizes):
        everything = tuple(Slice(i.start, i.profile) for i in state.instances)
        assert not everything or everything in legal
        assert set(state.steps) == {k for k in range(1, 8) if (held(state), k) in more}
        assert all(k <= state.free for k in state.steps)  # the counter would allow it as well
        assert state.stranded == stranded(MigLayout(board_name, held(state)))


def test_a_step_holds_one_slice_of_the_size_and_touches_no_other_that_is_held() -> None:
    for state in reachable(A100, (1, 2, 3, 4, 7)):
        idle = {size_of(A100, Slice(i.start, i.profile)) for i in state.instances if not i.held}
        for size, step in state.steps.items():
            after = board_states(A100).at(step.after)
            gained = set(held(after)) - set(held(state))
            assert set(held(state)) < set(held(after))
            assert [size_of(A100, piece) for piece in gained] == [size]
            assert step.made == (size not in idle)
            back = board_states(A100).at(after.after_release[step.slots])
            assert held(back) == held(state)
            assert not back.steps[size].made


def test_all_19_maximal_layouts_can_come_about() -> None:
    found = {held(state) for state in reachable(A100, (1, 2, 3, 4, 7))}
    assert {layout.slices for layout in maximal_layouts(A100)} <= found


@pytest.mark.parametrize("sizes", [(1,), (2,), (3,), (4,), (7,), (1, 7), (2, 7), (3, 7), (4, 7)])
def test_one_size_alone_or_with_the_whole_gpu_is_as_the_counter_says(sizes: tuple[int, ...]) -> None:
    for state in reachable(A100, sizes):
        assert [k in state.steps for k in sizes] == [k <= state.free for k in sizes]


@pytest.mark.parametrize("sizes", [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)])
def test_any_other_pair_of_sizes_meets_a_state_that_only_the_counter_allows(sizes: tuple[int, int]) -> None:
    assert any(k <= s.free and k not in s.steps for s in reachable(A100, sizes) for k in sizes)


def test_a_slice_of_3_at_the_front_strands_a_compute_slice() -> None:
    states = board_states(A100)
    both = states.at(states.at(states.at(()).steps[3].after).steps[3].after)
    front = states.at(both.after_release[0b11110000])
    assert (both.free, both.stranded) == (1, 1)
    assert (held(front), front.free, front.stranded) == ((Slice(0, "3g.20gb"),), 4, 1)
    assert sorted(front.steps) == [1, 2, 3]


@pytest.mark.parametrize(("size", "start"), [(1, 6), (2, 4), (3, 4), (4, 0), (7, 0)])
def test_the_first_slice_lies_where_the_largest_others_still_fit(size: int, start: int) -> None:
    step = board_states(A100).at(()).steps[size]
    assert [i.start for i in step.after] == [start]


def test_an_idle_slice_makes_way_only_where_it_must() -> None:
    states = board_states(A100)
    ready = states.at(idle_instances(parse_layout("1g.5gb, 1g.5gb, 1g.5gb, 4g.20gb", A100)))
    three = ready.steps[3]
    assert (three.made, three.slots) == (True, 0b11110000)
    assert [(i.start, i.held) for i in three.after] == [(0, False), (4, True)]


def test_fixed_slices_stay_and_the_smallest_that_is_large_enough_serves() -> None:
    layout = parse_layout("3g.20gb, 2g.10gb, 1g.5gb, 1g.5gb", A100)
    states = board_states(A100, fixed=True)
    state = states.at(idle_instances(layout))
    got = []
    for size in (1, 1, 1, 3):
        got.append(state.steps[size].vgpus)
        state = states.at(state.steps[size].after)
        assert tuple(Slice(i.start, i.profile) for i in state.instances) == layout.slices
    assert got == [1, 1, 2, 3]
    assert not state.steps
