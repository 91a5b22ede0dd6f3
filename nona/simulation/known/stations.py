"""Known systems of one station: single queues, several servers, priorities."""

from __future__ import annotations

from collections.abc import Callable

from nona.placement.waits.queueing import fifo_wait_s, second_moment
from nona.schedulers.registry import get_scheduler
from nona.simulation.known.bound import bind_to
from nona.simulation.known.parts import KnownSystem, exactly, one_task_query, run_length, system_of
from nona.simulation.theory import link_wait_s, md1_jct_s, mg1_jct_s, mm1_jct_s, mmc_jct_s, priority_jct_s
from nona.system import Stream

MEAN_S = 0.01


def single_queue(scv: float) -> Callable[[float], KnownSystem]:
    """One executor; services with the given squared coefficient of variation."""
    name = {0.0: "M/D/1", 1.0: "M/M/1"}.get(scv, f"M/G/1, scv {scv:g}")

    def build(load: float) -> KnownSystem:
        rate = load / MEAN_S
        m_d_1, m_m_1 = md1_jct_s(rate, MEAN_S), mm1_jct_s(rate, MEAN_S)
        others = {k: v for k, v in (("M/D/1", m_d_1), ("M/M/1", m_m_1)) if k != name}
        jct_s = {0.0: m_d_1, 1.0: m_m_1}.get(scv, mg1_jct_s(rate, MEAN_S, scv))
        return KnownSystem(
            name=name,
            theory="Pollaczek–Khinchine",
            load=load,
            system=system_of([one_task_query("q", rate, MEAN_S, scv)], seed=1),
            scheduler=bind_to([0]),
            expected=(exactly(jct_s, others),),
            compute=load,
            network=0.0,
            length=run_length(load),
        )

    return build


def queue_with_background(load: float) -> KnownSystem:
    """A third of the load is exponential background of the executor, the rest constant queries."""
    background = Stream(load / 3 / 0.02, 0.02, 1.0)
    rate = load * 2 / 3 / MEAN_S
    wait = fifo_wait_s(load, rate * MEAN_S**2 + background.rate * second_moment(background))
    return KnownSystem(
        name="M/G/1 with background",
        theory="Pollaczek–Khinchine",
        load=load,
        system=system_of([one_task_query("q", rate, MEAN_S)], seed=2, background_compute=background),
        scheduler=bind_to([0]),
        expected=(exactly(wait + MEAN_S, {"queries alone": md1_jct_s(rate, MEAN_S)}),),
        compute=load,
        network=0.0,
        length=run_length(load),
    )


def several_servers(load: float) -> KnownSystem:
    """Four executors that take tasks from one queue."""
    rate = 4 * load / MEAN_S
    return KnownSystem(
        name="M/M/4, opportunistic",
        theory="Erlang C",
        load=load,
        system=system_of([one_task_query("q", rate, MEAN_S, 1.0)], executors=4, seed=3),
        scheduler=get_scheduler("opportunistic"),
        expected=(exactly(mmc_jct_s(rate, MEAN_S, 4), {"four queues apart": mm1_jct_s(rate / 4, MEAN_S)}),),
        compute=load,
        network=0.0,
        length=run_length(load),
    )


_CLASSES = (("urgent", 0.3, 0.004, 0.0), ("usual", 0.4, 0.01, 1.0), ("late", 0.3, 0.02, 2.0))


def priorities(load: float) -> KnownSystem:
    """Three classes of different services on one executor; the order is not that of the workload."""
    streams = [Stream(load * share / mean, mean, scv) for _, share, mean, scv in _CLASSES]
    fifo_s = link_wait_s(1.0, streams)
    expected = []
    for number, (row, stream, jct_s) in enumerate(
        zip(_CLASSES, streams, priority_jct_s(streams), strict=True)
    ):
        # At low loads, and in the middle, an order of arrival gives nearly the same.
        told = {"in order of arrival": fifo_s + stream.mean} if load > 0.5 and row[0] != "usual" else {}
        expected.append(exactly(jct_s, told, row[0], (number + 1) % 3))
    queries = [
        one_task_query(row[0], s.rate, s.mean, s.scv) for row, s in zip(_CLASSES, streams, strict=True)
    ]
    return KnownSystem(
        name="M/G/1 with priorities",
        theory="Cobham",
        load=load,
        system=system_of([queries[2], queries[0], queries[1]], seed=7),
        scheduler=get_scheduler("priority"),
        options={"order": ["urgent", "usual", "late"]},
        expected=tuple(expected),
        compute=load,
        network=0.0,
        length=run_length(load, share=0.4),
    )


def background_first(load: float) -> KnownSystem:
    """Ready tasks wait in one list until the executor is free, so its background has priority."""
    background = Stream(load / 2 / 0.02, 0.02, 1.0)
    own = Stream(load / 2 / MEAN_S, MEAN_S, 0.0)
    _, jct_s = priority_jct_s([background, own])
    told = {"in order of arrival": link_wait_s(1.0, [background, own]) + MEAN_S} if load > 0.5 else {}
    return KnownSystem(
        name="background before picked tasks",
        theory="Cobham",
        load=load,
        system=system_of([one_task_query("q", own.rate, MEAN_S)], seed=8, background_compute=background),
        scheduler=get_scheduler("opportunistic"),
        expected=(exactly(jct_s, told),),
        compute=load,
        network=0.0,
        length=run_length(load),
    )
