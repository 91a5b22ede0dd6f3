"""Enumeration of configurations: counts of combinatorics, uniqueness, round trips."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.decomposition import VIRTUAL, SubGraph
from nona.placement.configurations import (
    configuration_labels,
    enumerate_configurations,
    set_partitions,
    to_configuration,
    to_labels,
)
from nona.placement.enumeration import multiset_partitions
from nona.placement.result import Configuration


def bell(n: int) -> int:
    row = [1]
    for _ in range(n):
        row.append(sum(comb(len(row) - 1, k) * row[k] for k in range(len(row))))
    return row[n]


@pytest.mark.parametrize("m", range(7))
def test_counts_are_those_of_bell_numbers(m: int) -> None:
    assert len(list(set_partitions(m))) == bell(m)
    if m > 0:
        assert len(configuration_labels(m)) == bell(m + 2) - 2 * bell(m + 1)
        assert len(configuration_labels(m, root_free=True, sink_free=True)) == bell(m)


@pytest.mark.parametrize("m", range(6))
def test_configurations_are_distinct_complete_and_start_with_local(m: int) -> None:
    interior = tuple(range(10, 10 + m))
    found = enumerate_configurations(SubGraph(0, 99, interior))
    assert len(set(found)) == len(found)
    assert found[0].is_local
    assert sum(c.is_local for c in found) == 1
    for c in found:
        assert sorted(t for p in c.parts for t in p) == list(interior)
        assert list(c.parts) == sorted(c.parts)


def test_a_virtual_root_or_sink_leaves_no_choice_of_its_part() -> None:
    assert len(enumerate_configurations(SubGraph(VIRTUAL, VIRTUAL, (0, 1, 2)))) == 5
    assert len(enumerate_configurations(SubGraph(VIRTUAL, 3, (0, 1)))) == 3


@pytest.mark.parametrize("servers", [1, 2, 3])
def test_few_servers_limit_the_parts(servers: int) -> None:
    found = enumerate_configurations(SubGraph(0, 9, (1, 2, 3, 4)), servers=servers)
    everything = enumerate_configurations(SubGraph(0, 9, (1, 2, 3, 4)))
    assert set(found) == {c for c in everything if len(c.parts) <= servers}


@given(st.integers(0, 6).flatmap(lambda m: st.tuples(st.just(m), st.integers(0, 10**6))))
@examples(60)
def test_labels_and_configurations_round_trip(case: tuple[int, int]) -> None:
    m, number = case
    labels = configuration_labels(m)
    row = labels[number % len(labels)].tolist()
    interior = tuple(range(m))
    again = to_labels(to_configuration(row, interior), interior)
    assert to_configuration(again, interior) == to_configuration(row, interior)
    assert again == row


def test_local_and_spread_are_told_apart() -> None:
    assert Configuration((), -1, -1).is_local
    assert Configuration(((1,),), 0, 0).is_local
    assert not Configuration(((1,),), -1, -1).is_local
    assert not Configuration(((1,),), 0, 0).sink_moves
    assert Configuration(((1,), (2,)), 0, 1).sink_moves


@pytest.mark.parametrize(("counts", "number"), [((12,), 77), ((1,) * 5, 52), ((2, 2), 9), ((0,), 1)])
def test_multiset_partitions_are_counted_right(counts: tuple[int, ...], number: int) -> None:
    found = list(multiset_partitions(counts))
    assert len(found) == len(set(found)) == number
    for split in found:
        assert tuple(sum(p[i] for p in split) for i in range(len(counts))) == counts
        assert list(split) == sorted(split, reverse=True)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_multiset_partitions_respect_the_number_of_parts(most: int) -> None:
    limited = set(multiset_partitions((3, 2), most=most))
    assert limited == {s for s in multiset_partitions((3, 2)) if len(s) <= most}
