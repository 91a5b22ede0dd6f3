"""Overload is refused with the resource, the amount, and what would do."""

import re

import pytest
from placement_helpers import query, slides, system

from nona.errors import PlacementError
from nona.placement.capacity import servers_needed
from nona.placement.fixed import local_placement
from nona.placement.solve import solve
from nona.system import Stream, System


def test_overloaded_executors_name_the_servers_that_would_do() -> None:
    s = system(slides(600.0), servers=8, compute=Stream(20.0, 0.01, 1.0))
    with pytest.raises(PlacementError) as error:
        solve(s)
    text = str(error.value)
    assert "class 'class0'" in text
    assert "utilisation 1.85" in text
    assert "background 0.2, queries 1.65 on 8 executors" in text
    assert "\n" not in text
    needed = int(re.search(r"(\d+) servers of this mix", text).group(1))  # type: ignore[union-attr]
    enough = system(slides(600.0), servers=needed, compute=Stream(20.0, 0.01, 1.0))
    solve(enough)
    with pytest.raises(PlacementError):
        solve(system(slides(600.0), servers=needed - 1, compute=Stream(20.0, 0.01, 1.0)))


def test_the_number_of_servers_is_the_least_stable_one() -> None:
    s = system(query([0.5], [], 16.0), servers=8)
    assert servers_needed(s) == 9, "at 8 servers the utilisation is exactly 1, which is not stable"
    with pytest.raises(PlacementError):
        local_placement(s)


def test_background_alone_is_beyond_any_number_of_servers() -> None:
    s = system(slides(1.0), compute=Stream(100.0, 0.011, 1.0))
    assert servers_needed(s) is None
    with pytest.raises(PlacementError, match="lower the background load"):
        solve(s)


def test_the_slowest_class_counts() -> None:
    q = query([0.001], [], 100.0, classes=(1.0, 100.0))
    s = system(q, servers=4, classes=2)
    with pytest.raises(PlacementError, match=r"class 'class1': utilisation 2\.5"):
        solve(s, shares="uniform")


def test_shares_that_keep_off_a_slow_class_may_be_stable_where_a_uniform_draw_is_not() -> None:
    s = system(query([0.001], [], 100.0, classes=(1.0, 100.0)), servers=4, classes=2)
    found = solve(s)
    assert max(c.utilization for c in found.prediction.classes) < 1
    overloaded = system(query([0.001], [], 3000.0, classes=(1.0, 1.0)), servers=2, classes=2)
    with pytest.raises(PlacementError, match=r"utilisation 1\.5 .* 4 servers of this mix"):
        solve(overloaded)


def test_background_on_the_link() -> None:
    s = system(slides(1.0), network=Stream(100.0, 12.0, 1.0), capacity=1000.0)
    with pytest.raises(PlacementError, match=r"background traffic .* is 1\.2 of the capacity"):
        solve(s)


def test_an_empty_workload() -> None:
    empty = system(slides())
    with pytest.raises(PlacementError, match="no query class"):
        solve(System(**{**empty.__dict__, "queries": ()}))
