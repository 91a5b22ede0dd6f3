"""What a scheduler sees: its level and no more, and true."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from simulation_cases import make_system, query, scheduler, task_graph

from nona.schedulers.base import NetworkView, View
from nona.simulation.run import RunOptions, simulate_run
from nona.system import Arrivals, Stream
from nona.topology import make_topology

PAIR = task_graph([1.0, 1.0], [(0, [1], 2.0)])
NETWORK = ("capacity", "latency_s", "past_transfer_s", "link_promised_s", "link_queue_bytes")


def views(level: NetworkView, reads: bool = False, **changes: Any) -> list[tuple[float, View]]:
    """The views at the arrivals at 0, 2, 4, 6 s; every job sends 2 bytes from server 0 to 1."""
    seen: list[tuple[float, View]] = []

    def watch(now: float, query: int, view: View, tables: Any, u: Any, out: Any) -> None:
        seen.append(
            (now, view._replace(queue_length=view.queue_length.copy(), backlog_s=view.backlog_s.copy()))
        )
        out[:] = (0, 1)

    arrivals = Arrivals("trace", times_s=(0.0, 2.0, 4.0, 6.0, 1e6), scale_to_rate=False)
    fields: dict[str, Any] = {"servers": [0, 1, 1], "capacity": 1.0, "latency_s": 0.25}
    system = make_system(query(PAIR, arrivals=arrivals), **(fields | changes))
    simulate_run(system, *scheduler(watch, view=level, reads_queues=reads), RunOptions(jobs=4, warmup=0))
    return seen[:4]


@pytest.mark.parametrize("level", NetworkView)
@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
def test_fields_above_the_level_are_nan(level: NetworkView, discipline: str) -> None:
    shown = {"capacity": 1, "latency_s": 1, "past_transfer_s": 2, "link_promised_s": 3, "link_queue_bytes": 4}
    for _, view in views(level, discipline=discipline):
        hidden = {name for name in NETWORK if math.isnan(getattr(view, name))}
        assert hidden == {name for name in NETWORK if shown[name] > level}


def test_queues_are_hidden_from_those_that_do_not_read_them() -> None:
    for _, view in views(NetworkView.N4):
        assert view.queue_length.tolist() == [-1, -1, -1]
        assert np.isnan(view.backlog_s).all()


def test_arrays_of_the_cluster_cannot_be_written() -> None:
    _, view = views(NetworkView.N0)[0]
    with pytest.raises(ValueError, match="read-only"):
        view.executor_server[0] = 5


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
def test_what_is_shown_is_true(discipline: str) -> None:
    """Task 0 runs 1 s; the message is requested at 1, served until 3, delivered at 3.25; and so on."""
    seen = views(NetworkView.N4, reads=True, discipline=discipline)
    assert [now for now, _ in seen] == [0.0, 2.0, 4.0, 6.0]
    assert [v.queue_length.tolist() for _, v in seen] == [[0, 0, 0], [0, 1, 0], [0, 2, 0], [0, 2, 0]]
    assert [v.backlog_s.tolist() for _, v in seen] == [[0, 0, 0], [0, 1, 0], [0, 2, 0], [0, 2, 0]]
    assert [v.link_queue_bytes for _, v in seen] == pytest.approx([0, 1, 1, 1])
    assert [v.link_promised_s for _, v in seen] == pytest.approx([0, 1, 1, 1])
    assert [v.past_transfer_s for _, v in seen] == pytest.approx([0, 0, 2.25, 2.25])


def test_what_is_shown_of_several_links_is_true() -> None:
    """Cards of half the core's capacity: a message holds both for 4 s and the core for 2 s.

    The first is requested at 1 and delivered at 5.25. The second is requested at 3 and stands at the
    first card until 5; the core and the last card are promised to it, but it waits at neither.
    """
    seen = [v for _, v in views(NetworkView.N4, topology=make_topology(2, 1.0, nic=0.5))]
    assert [v.link_queue_bytes for v in seen] == pytest.approx(
        [0, 1.5 + 1 + 1.5, 2.5 + 0 + 0.5, 3.5 + 1 + 1.5]
    )
    assert [v.link_promised_s for v in seen] == pytest.approx([0, 3, 5, 7])
    assert [v.past_transfer_s for v in seen] == pytest.approx([0, 0, 0, 4.25])
    assert {v.capacity for v in seen} == {1.0}


def test_one_link_of_a_topology_shows_what_a_single_link_shows() -> None:
    background = Stream(1.0, 0.3, 1.0)
    shown = [
        [repr(v) for v in views(NetworkView.N4, reads=True, background_network=background, **changes)]
        for changes in ({}, {"topology": make_topology(2, 1.0)})
    ]
    assert shown[0] == shown[1]


def test_background_counts_in_queues_but_not_in_promises() -> None:
    seen = views(
        NetworkView.N4,
        reads=True,
        background_compute=Stream(5.0, 3.0, 0.0),
        background_network=Stream(1.0, 5.0, 0.0),
    )
    _, last = seen[-1]
    assert last.queue_length[2] > 10
    assert last.backlog_s[2] == pytest.approx(3.0 * last.queue_length[2])
    assert last.link_queue_bytes > 10
    assert last.link_promised_s < 5
