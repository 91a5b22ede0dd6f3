"""Home invokers, walks, and which invokers are asked in which order."""

from itertools import combinations
from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nona.errors import SimulationError
from nona.serverless.dispatch import candidates, home_and_step, home_invoker, name_hash, steps, walk

RULES = ("home", "predecessor", "warm", "walk", "most-free")


def test_the_documented_example():
    assert home_and_step(13, 10) == (3, 3)
    assert walk(3, 3, 10) == (3, 6, 9, 2, 5, 8, 1, 4, 7, 0)


@given(name=st.text(max_size=30), n=st.integers(1, 200))
def test_a_walk_visits_every_invoker_once_from_home_on(name, n):
    home, step = home_invoker(name, n)
    visited = walk(home, step, n)
    assert visited[0] == home == name_hash(name) % n
    assert sorted(visited) == list(range(n))


@pytest.mark.parametrize("n", range(1, 120))
def test_steps_are_coprime_to_n_and_to_each_other_and_none_is_missing(n):
    found = steps(n)
    assert all(gcd(a, b) == 1 for a, b in combinations(found, 2))
    assert all(gcd(s, n) == 1 for s in found)
    for other in set(range(1, n + 1)) - set(found):
        assert gcd(other, n) > 1 or any(gcd(other, s) > 1 for s in found if s < other)


def test_without_invokers_there_is_no_step():
    with pytest.raises(SimulationError, match="n=0"):
        steps(0)


@given(name=st.text(max_size=12))
def test_the_hash_is_the_sum_of_units_times_powers_of_31(name):
    units = name.encode("utf-16-be")
    values = [units[i] * 256 + units[i + 1] for i in range(0, len(units), 2)]
    total = sum(value * 31 ** (len(values) - 1 - i) for i, value in enumerate(values)) % 2**32
    assert name_hash(name) == min(total, 2**32 - total)


@given(data=st.data(), n=st.integers(1, 9))
def test_candidates_name_each_invoker_once_by_the_first_rule_that_has_it(data, n):
    rules = data.draw(st.lists(st.sampled_from(RULES), max_size=5, unique=True))
    route = data.draw(st.permutations(range(n)))
    predecessor = data.draw(st.integers(-1, n - 1))
    warm = sorted(data.draw(st.sets(st.integers(0, n - 1))))
    vcpus, vgpus = (data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)) for _ in range(2))
    by_rule = {
        "home": route[:1],
        "predecessor": [i for i in [predecessor] if i >= 0],
        "warm": warm,
        "walk": route,
        "most-free": [i for *_, i in sorted((-vgpus[i], -vcpus[i], i) for i in range(n))],
    }
    naive = {}
    for rule in rules:
        for invoker in by_rule[rule]:
            naive.setdefault(invoker, rule)
    assert list(candidates(rules, route, predecessor, warm, vcpus, vgpus)) == list(naive.items())
