"""The one search: the least count, with few counts asked for, none of them twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.planning.least import driven, least


@examples(300)
@given(st.integers(0, 400), st.integers(1, 300), st.integers(1, 350), st.integers(0, 5), st.integers(0, 3))
def test_a_monotone_target_is_found(answer: int, most: int, start: int, low: int, beside: int) -> None:
    answer = max(answer, low + 1)
    asked: list[int] = []

    def keeps(count: int) -> bool:
        asked.append(count)
        return count >= answer

    found = driven(least(most, start, low=low, beside=beside), keeps)
    assert found == (answer if low < answer <= most else None)
    assert len(asked) == len(set(asked))
    assert all(low < count <= most for count in asked)
    distance = abs(answer - min(max(start, low + 1), max(most, low + 1))) + 2
    assert len(asked) <= 2 * distance.bit_length() + 4 + 2 * beside


@examples(300)
@given(st.sets(st.integers(1, 40)), st.integers(1, 40), st.integers(1, 40), st.integers(1, 3))
def test_what_is_found_is_settled_and_none_just_below(
    kept: set[int], most: int, start: int, beside: int
) -> None:
    found = driven(least(most, start, beside=beside), lambda count: count in kept)

    def settled(count: int) -> bool:
        return all(n in kept for n in range(count, min(count + beside, most) + 1))

    if found is None:
        assert not (settled(most) and most in kept) or most == 0
    else:
        assert settled(found)
        assert not any(settled(n) for n in range(max(1, found - beside), found))


def test_a_count_that_does_not_help_ends_the_search() -> None:
    asked: list[int] = []
    search = least(1000, 8, helps=lambda count: count < 20)
    assert driven(search, lambda count: bool(asked.append(count))) is None
    assert max(asked) < 64


def test_searches_can_run_side_by_side() -> None:
    answers, found = [5, 40, 17], {}
    lanes = {n: least(100, 10) for n in range(3)}
    wanted = {n: next(search) for n, search in lanes.items()}
    while wanted:
        for n, count in list(wanted.items()):
            try:
                wanted[n] = lanes[n].send(count >= answers[n])
            except StopIteration as end:
                found[n] = end.value
                del wanted[n]
    assert [found[n] for n in range(3)] == answers
