"""Configurations are counted and told apart; what a search may try is complete and allowed."""

import itertools
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from placement_helpers import query, random_system, slides, system
from sizes import examples

from nona.queries.placement import configurations, enumeration
from nona.queries.placement.enumeration import multiset_partitions
from nona.queries.placement.proposals import (
    Candidate,
    choices,
    groups_of,
    mixtures,
    relative_labels,
    same,
    starts,
)
from nona.queries.placement.result import Configuration
from nona.queries.schedulers.sampling_tables import build_tables


def bell(n):
    row = [1]
    for _ in range(n):
        row.append(sum(comb(len(row) - 1, k) * row[k] for k in range(len(row))))
    return row[n]


@pytest.mark.parametrize("m", range(7))
def test_counts_are_those_of_bell_numbers(m):
    assert len(list(configurations.set_partitions(m))) == bell(m)
    if m > 0:
        assert len(configurations.configuration_labels(m)) == bell(m + 2) - 2 * bell(m + 1)
        assert len(configurations.configuration_labels(m, root_free=True, sink_free=True)) == bell(m)


@pytest.mark.parametrize("n", range(1, 7))
def test_classes_of_different_components_are_counted_before_they_are_listed(n, monkeypatch):
    """Σ S(n, k)·k²: k parts, one of which is on the root's server, and one has the sink."""
    expected = sum(len(set(p)) ** 2 for p in configurations.set_partitions(n))
    for limit in (expected - 1, expected):
        enumeration._too_many.cache_clear()
        monkeypatch.setattr(enumeration, "CLASSES", limit)
        assert enumeration._too_many((1,) * n, n + 1, True, True) == (limit < expected)
    enumeration._too_many.cache_clear()


def every_configuration(interior, **choices):
    labels = configurations.configuration_labels(len(interior), **choices)
    return [configurations.to_configuration(row, interior) for row in labels.tolist()]


@pytest.mark.parametrize("m", range(6))
def test_configurations_are_distinct_complete_and_start_with_local(m):
    interior = tuple(range(10, 10 + m))
    found = every_configuration(interior)
    assert len(set(found)) == len(found)
    assert found[0].is_local
    assert sum(c.is_local for c in found) == 1
    for c in found:
        assert sorted(t for p in c.parts for t in p) == list(interior)
        assert list(c.parts) == sorted(c.parts)


def test_a_virtual_root_or_sink_leaves_no_choice_of_its_part():
    assert len(every_configuration((0, 1, 2), root_free=True, sink_free=True)) == 5
    assert len(every_configuration((0, 1), root_free=True)) == 3


@pytest.mark.parametrize("servers", [1, 2, 3])
def test_few_servers_limit_the_parts(servers):
    found = every_configuration((1, 2, 3, 4), servers=servers)
    everything = every_configuration((1, 2, 3, 4))
    assert set(found) == {c for c in everything if len(c.parts) <= servers}


@given(st.integers(0, 6).flatmap(lambda m: st.tuples(st.just(m), st.integers(0, 10**6))))
@examples(60)
def test_labels_and_configurations_round_trip(case):
    m, number = case
    labels = configurations.configuration_labels(m)
    row = labels[number % len(labels)].tolist()
    interior = tuple(range(m))
    again = configurations.to_labels(configurations.to_configuration(row, interior), interior)
    assert configurations.to_configuration(again, interior) == configurations.to_configuration(row, interior)
    assert again == row


def test_local_and_spread_are_told_apart():
    told = [Configuration(*c) for c in (((), -1, -1), (((1,),), 0, 0), (((1,),), -1, -1))]
    assert [c.is_local for c in told] == [True, True, False]
    assert [c.sink_moves for c in (told[1], Configuration(((1,), (2,)), 0, 1))] == [False, True]


@pytest.mark.parametrize(("counts", "number"), [((12,), 77), ((1,) * 5, 52), ((2, 2), 9), ((0,), 1)])
def test_multiset_partitions_are_counted_right(counts, number):
    found = list(multiset_partitions(counts))
    assert len(found) == len(set(found)) == number
    for split in found:
        assert tuple(sum(p[i] for p in split) for i in range(len(counts))) == counts
        assert list(split) == sorted(split, reverse=True)
    for most in (1, 2, 3):
        assert set(multiset_partitions(counts, most=most)) == {s for s in found if len(s) <= most}


@pytest.mark.parametrize("m", range(1, 6))
def test_relative_placements_are_all_there_are(m):
    """Every assignment of tasks and sink to servers, the sink where the root or a task is, up to names."""
    found = relative_labels(m, 9, True, True)
    every = {
        configurations.canonical(row)
        for row in itertools.product(range(m + 2), repeat=m + 1)
        if row[-1] in (0, *row[:-1])
    }
    assert set(found) == every
    assert len(found) == len(set(found))


@pytest.mark.parametrize(("root", "sink"), [(False, True), (True, False), (False, False)])
def test_a_virtual_end_leaves_less_to_choose(root, sink):
    rows = relative_labels(3, 9, root, sink)
    assert len(set(rows)) == len(rows)
    assert sink or all(row[-1] == 0 for row in rows)
    assert root or all(row[0] == 0 for row in rows)


@given(st.integers(0, 10**6))
@examples(40)
def test_every_choice_of_every_group_can_be_simulated(seed):
    """Moves and whole lists give partitions of the interior on servers that exist, each once."""
    s = random_system(seed, queries=2, width=5, servers=4)
    start = starts(s, None)[seed % len(starts(s, None))]
    for group in groups_of(s, start.queries):
        rows = choices(s, group, start.queries)
        assert len(set(rows)) == len(rows)
        for row in rows:
            assert configurations.canonical(row) == row
            assert max(row) < configurations.server_slots(s)
            build_tables(s, group.placed(start.queries, row))  # it refuses what is no partition


def test_equal_subgraphs_that_are_placed_differently_have_a_turn_each():
    """Two equal diamonds of one query are one group, until one of them is split."""
    arcs = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 6), (5, 6)]
    s = system(query([0.001] * 7, [(a, b, 1.0) for a, b in arcs], 5.0))
    local = next(c.queries for c in starts(s, None) if c.origin == "local")
    (both,) = groups_of(s, local)
    assert both.members == (0, 1)
    first = both.placed(local, (1, 0, 0))[0][0]
    mixed = ((first, local[0][1]),)
    assert [g.members for g in groups_of(s, mixed)] == [(0,), (1,)]
    assert [g.members for g in groups_of(s, both.placed(local, (1, 0, 0)))] == [(0, 1)]


def test_moves_lead_from_anywhere_to_everything_local():
    """Moves change one unit; enough of them reach the local placement and leave it again."""
    wide = [(0, v, 1.0) for v in range(1, 7)] + [(v, 7, 1.0) for v in range(1, 7)]
    s = system(query([0.001] * 8, wide, 5.0))
    here = next(c.queries for c in starts(s, None) if c.origin == "spread")
    (group,) = groups_of(s, here)
    for _ in range(6):
        if any(group.row(here)):
            rows = choices(s, group, here)
            here = group.placed(here, min(rows, key=lambda row: len(set(row)) + sum(map(bool, row))))
    assert not any(group.row(here))
    assert any(set(row) != {0} for row in choices(s, group, here))


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_mixture_has_the_shares_of_its_two(share):
    s = system(slides())
    local, spread = (next(c for c in starts(s, None) if c.origin == n) for n in ("local", "spread"))
    (mixed,) = mixtures(local, spread, (share,))
    placed = mixed.queries[0][0]
    assert placed.probabilities.sum() == pytest.approx(1.0)
    chance = dict(zip(placed.configurations, placed.probabilities.tolist(), strict=True))
    assert chance.get(spread.queries[0][0].configurations[0], 0.0) == pytest.approx(share)
    if share in (0.0, 1.0):
        assert same(mixed.queries, (local, spread)[int(share)].queries)


def test_starts_are_different_and_named():
    s = random_system(3, queries=2)
    found = starts(s, None)
    assert found[0].origin == "local"
    assert all(isinstance(c, Candidate) for c in found)
    assert not any(same(a.queries, b.queries) for a, b in itertools.combinations(found, 2))
