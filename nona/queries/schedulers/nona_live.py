"""``nona-live``: the placement as a price list, corrected by the queues at an arrival."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle
from nona.queries.placement.result import Placement
from nona.queries.schedulers.base import (
    NetworkView,
    Rehearsal,
    Scheduler,
    SchedulerTables,
    SystemView,
    required_placement,
)
from nona.queries.schedulers.nona_live_tables import Expected, LiveTables, build_live
from nona.queries.system import System


class JobWalk(NamedTuple):
    """The state of a job, in seconds from now.

    By slot: ``free_s``, when it is done with what the job gave it, −1 if nothing; ``kept_s`` the same
    where the sub-graph began. By task: ``end_s``, ``slot``. By tensor: ``server`` it was sent to last,
    ``there_s`` when it arrives there, ``trial`` the walk that sent it. ``sent``: until when the job's
    own messages hold the link, the request of the last, the bytes
    sent, the number of the walk, the first two as they were where the sub-graph began, and the bytes of
    the job. ``price_s``: of a byte; what the sub-graph's visits risk; when it ends.
    """

    free_s: Floats
    kept_s: Floats
    end_s: Floats
    slot: Ints
    server: Ints
    there_s: Floats
    trial: Ints
    sent: Floats
    price_s: Floats


def make_walk(t: LiveTables) -> JobWalk:
    """Return a walk of a job that has just arrived."""
    tasks, tensors, slots = t.most_tasks, t.most_tensors, t.most_slots
    floats = np.full(2 * slots + tasks + tensors, -1.0)
    ints = np.zeros(tasks + 2 * tensors, dtype=np.int64)
    return JobWalk(
        floats[:slots],
        floats[slots : 2 * slots],
        floats[2 * slots : 2 * slots + tasks],
        ints[:tasks],
        ints[tasks : tasks + tensors],
        floats[2 * slots + tasks :],
        ints[tasks + tensors :],
        np.zeros(7),
        np.zeros(3),
    )


def _begin_walk(w: JobWalk) -> None:
    """Back to where the sub-graph began."""
    for i in range(len(w.free_s)):
        w.free_s[i] = w.kept_s[i]
    w.sent[0], w.sent[1], w.sent[2] = w.sent[4], w.sent[5], 0.0
    w.sent[3] += 1.0
    w.price_s[1] = 0.0


class Slots(NamedTuple):
    """A job's executors by slot: the root's, then the best of each other server, then more of the first.

    ``backlog_s`` is the work before the job; ``key_s`` orders the slots: the same plus half of the job's
    own time there, where executors differ. ``idle`` holds one number, of executors that are idle and not
    among the slots.
    """

    executor: Ints
    server: Ints
    kind: Ints
    backlog_s: Floats
    key_s: Floats
    idle: Floats


class ArrivingJob(NamedTuple):
    """A job of class ``query`` that is to be placed, in numbers.

    Of its ``size`` slots the first ``far`` stand on servers of their own. ``queue_s`` is the work at the
    link, in seconds; 0 where it is not read.
    """

    query: int
    far: int
    size: int
    queue_s: float


def make_slots(most: int) -> Slots:
    """Room for ``most`` slots."""
    ints, floats = np.zeros(3 * most, dtype=np.int64), np.zeros(2 * most)
    return Slots(
        ints[:most], ints[most : 2 * most], ints[2 * most :], floats[:most], floats[most:], np.zeros(1)
    )


def ahead_s(e: int, view: SystemView) -> float:
    """Work before a newcomer: the backlog, the task that runs counted by half."""
    n = view.queue_length[e]
    return float(view.backlog_s[e] * (1.0 - 0.5 / n)) if n > 0 else 0.0


def _first_executor(query: int, view: SystemView, t: LiveTables, s: Slots, u: float) -> int:
    """Return the executor that would end the whole query first; ties: shorter queue, next from draw ``u``."""
    executors = len(view.executor_server)
    base, e = query * t.classes, int(u * executors)
    best, least, length, idle = e, math.inf, 0, 0
    for _ in range(executors):
        done = view.backlog_s[e] + t.work_s[base + view.executor_class[e]]
        n = view.queue_length[e]
        if n == 0:
            idle += 1
        if done < least or (done == least and n < length):
            best, least, length = e, done, n
        e += 1
        if e == executors:
            e = 0
    s.idle[0] = max(idle - 1.0 - t.others[query], 0.0)
    return int(best)


def put(s: Slots, at: int, e: int, key_s: float, view: SystemView) -> None:
    """Executor ``e`` takes slot ``at``."""
    s.executor[at] = e
    s.server[at] = view.executor_server[e]
    s.kind[at] = view.executor_class[e]
    s.backlog_s[at] = ahead_s(e, view)
    s.key_s[at] = key_s


def insert(s: Slots, begin: int, at: int, e: int, key_s: float, view: SystemView) -> None:
    """Executor ``e`` takes its place by key among the slots ``begin``…``at``; the last of them is lost."""
    while at > begin and s.key_s[at - 1] > key_s:
        s.executor[at] = s.executor[at - 1]
        s.server[at] = s.server[at - 1]
        s.kind[at] = s.kind[at - 1]
        s.backlog_s[at] = s.backlog_s[at - 1]
        s.key_s[at] = s.key_s[at - 1]
        at -= 1
    put(s, at, e, key_s, view)


def find_slots(query: int, view: SystemView, t: LiveTables, s: Slots, u: float) -> ArrivingJob:
    """Fill the slots for a job that has just arrived; ``u`` chooses among executors that are equally good."""
    root = _first_executor(query, view, t, s, u)
    put(s, 0, root, 0.0, view)
    far = 1 + fill(1, query, view, t, s, near=False)
    size = far
    if t.near[query] != 0:
        size += fill(far, query, view, t, s, near=True)
    return ArrivingJob(query, far, size, view.link_queue_bytes / t.core_bytes_s if t.live != 0 else 0.0)


def fill(begin: int, query: int, view: SystemView, t: LiveTables, s: Slots, near: bool) -> int:
    """Fill slots from ``begin`` on with the least loaded executors, in order; return how many.

    ``near``: others of the root's server; else the best of each other server. Ties go to the next after
    the root, which has the first slot.
    """
    most = t.near[query] if near else t.others[query]
    root, executors = s.executor[0], len(view.executor_server)
    base, n, e = query * t.classes, 0, root
    for _ in range(executors - 1):
        e += 1
        if e == executors:
            e = 0
        if (view.executor_server[e] == view.executor_server[root]) != near:
            continue
        key_s = ahead_s(e, view)
        if t.classes > 1:
            key_s += 0.5 * t.work_s[base + view.executor_class[e]]
        if key_s == math.inf or (n == most and key_s >= s.key_s[begin + n - 1]):
            continue
        at = begin + n if near else _place_of(view.executor_server[e], begin, begin + n, s)
        if at < begin + n:  # its server has a slot
            if key_s < s.key_s[at]:
                insert(s, begin, at, e, key_s, view)
        else:
            if n < most:
                n += 1
            insert(s, begin, begin + n - 1, e, key_s, view)
        if n == most and s.key_s[begin + n - 1] == 0.0:
            break
    return n


def _place_of(server: int, begin: int, end: int, s: Slots) -> int:
    """Return the slot from ``begin`` on that stands on a server, ``end`` if none does."""
    for i in range(begin, end):
        if s.server[i] == server:
            return i
    return end


def grown(work_s: float, wait_s: float) -> float:
    """Return the wait behind newcomers with so much work: all of it at first, ``wait_s`` at last."""
    if work_s <= 0.0 or wait_s <= 0.0:
        return 0.0
    return wait_s * work_s / (wait_s + work_s)


def link_wait_s(request_s: float, queue_s: float, x: Expected, live: int) -> float:
    """Return the wait at the link of a message requested then, with ``queue_s`` seconds of work now.

    Where that is not read (``live`` is 0), the mean.
    """
    if live == 0:
        return x.link_wait_s
    return max(queue_s - (1.0 - x.link_load) * request_s, grown(x.link_load * request_s, x.link_wait_s))


def start_s(slot: int, ready_s: float, job: ArrivingJob, w: JobWalk, s: Slots, x: Expected) -> float:
    """Return the start of a task in a slot, by the work that is known; the task is ready at ``ready_s``.

    A queue is served in order of readiness, so what comes before ``ready_s`` goes first: where work
    waits now, ``busy_load`` seconds a second and the burst that the job may belong to. A task that is
    ready when the job's last one ends there starts at once.
    """
    free_s, busy_s = w.free_s[slot], s.backlog_s[slot]
    if free_s >= 0.0 and ready_s <= free_s:
        return float(free_s)
    if busy_s <= 0.0:
        return float(ready_s)
    came_s = x.busy_load * ready_s + min(ready_s, x.burst_s[job.query])
    if free_s < 0.0:
        return float(max(ready_s, busy_s + came_s))
    return float(ready_s + max(0.0, came_s - (ready_s - free_s)))


def _risk_s(slot: int, ready_s: float, job: ArrivingJob, w: JobWalk, s: Slots, x: Expected) -> float:
    """Return the wait for arrivals before ``ready_s``: background, and queries that find none idle."""
    gap_s = ready_s - max(w.free_s[slot], 0.0)
    if gap_s <= 0.0:
        return 0.0
    burst_s = x.burst_s[job.query]
    spilt = scarcity(job.query, ready_s, s, x)
    work_s = x.query_load * gap_s + min(gap_s, burst_s)
    return grown(x.load * gap_s, x.wait_s) + grown(x.crowding * spilt * work_s, x.query_wait_s + burst_s)


def scarcity(query: int, until_s: float, s: Slots, x: Expected) -> float:
    """Return the share of newcomers until then that find no idle executor: wanted / (wanted + idle)."""
    wanted = x.burst_wanted[query] + x.wanted_rate * until_s
    return float(wanted / (wanted + s.idle[0])) if wanted > 0.0 else 0.0


# Ways through a sub-graph: 2·c + n is configuration c, n = 1 with executors of the first server preferred.
LOCAL = -1  # all with the root
EARLIEST = -2  # each task where it ends first
EARLIEST_BACK = -3  # the same, with the way back to the root's server counted


def ready_s(n: int, slot: int, job: ArrivingJob, w: JobWalk, s: Slots, t: LiveTables, store: bool) -> float:
    """Return when task number ``n`` (of all) has its inputs in a slot; ``store``: send them, else ask."""
    latest, here, x = 0.0, s.server[slot], t.expected
    held_s, last_s = w.sent[0], w.sent[1]
    for i in range(t.inputs[n], t.inputs[n + 1]):
        producer, tensor = t.source[i], t.tensor[i]
        at = w.end_s[producer]
        there = s.server[w.slot[producer]]
        if there != here:
            if w.trial[tensor] == w.sent[3] and w.server[tensor] == here:
                at = w.there_s[tensor]
            else:
                path_s = t.core_s
                if t.rack[there] == t.rack[here]:
                    path_s = t.rack_s
                begin = at + link_wait_s(at, job.queue_s, x, t.live)
                if at >= last_s:
                    begin = max(begin, held_s)
                    last_s = at
                held_s = max(held_s, begin + t.size_bytes[i] / t.core_bytes_s)
                at = begin + t.size_bytes[i] * max(path_s[there], path_s[here]) + t.latency_s
                if store:
                    w.sent[0], w.sent[1] = held_s, last_s
                    w.sent[2] += t.size_bytes[i]
                    w.server[tensor] = here
                    w.there_s[tensor] = at
                    w.trial[tensor] = int(w.sent[3])
        latest = max(latest, at)
    return latest


def _run_task(task: int, slot: int, job: ArrivingJob, w: JobWalk, s: Slots, t: LiveTables) -> None:
    """Send a task its inputs and run it in a slot.

    The risk of its visit is added to the cost of the sub-graph, whatever branch it stands on: waits that
    are rare and long add up at a join, where the mean of the longest is about the sum of the means.
    """
    n, x = t.tasks[job.query] + task, t.expected
    ready = ready_s(n, slot, job, w, s, t, store=True)
    w.price_s[1] += _risk_s(slot, ready, job, w, s, x)
    end = start_s(slot, ready, job, w, s, x) + t.time_s[n * t.classes + s.kind[slot]]
    w.free_s[slot] = w.end_s[task] = end
    w.slot[task] = slot


def _slot_of(label: int, root: int, far: int, count: int, near: bool) -> int:
    """Return the slot of a label, given the root's; other slots in turn, ``near`` ones first."""
    if label == 0:
        return root
    if near:
        at = far + label - 1
        if root >= far and at >= root:
            at += 1
        if at < count:
            return at
        label = at - count + 1
    others = far - 1 if root < far else far
    if others == 0:
        return root
    at = (label - 1) % others
    return at + 1 if at >= root else at


def _earliest_slot(
    n: int, root: int, job: ArrivingJob, w: JobWalk, s: Slots, t: LiveTables, back: bool
) -> int:
    """Return the slot in which task number ``n`` would end first; ``back``: with its result back at the root.

    Of the unused slots it tries only the first on another server and the first on the first server.
    """
    far, x = job.far, t.expected
    best, least, new_far, new_near = root, math.inf, False, False
    for slot in range(job.size):
        if w.free_s[slot] < 0.0 and slot != root:
            if (new_far and slot < far) or (new_near and slot >= far):
                continue
            new_far, new_near = new_far or slot < far, new_near or slot >= far
        ready = ready_s(n, slot, job, w, s, t, store=False)
        done = start_s(slot, ready, job, w, s, x) + _risk_s(slot, ready, job, w, s, x)
        done += t.time_s[n * t.classes + s.kind[slot]]
        if back and s.server[slot] != s.server[root]:
            done += t.latency_s + x.link_wait_s + t.back_bytes[n] / t.core_bytes_s
        if done < least:
            best, least = slot, done
    return best


def _walk_graph(g: int, way: int, root: int, job: ArrivingJob, w: JobWalk, s: Slots, t: LiveTables) -> float:
    """Place and run the sub-graph ``g``; when its last task ends."""
    base, last = t.tasks[job.query], 0.0
    begin, end = t.order[g], t.order[g + 1]
    for i in range(begin, end):
        task = t.task[i]
        slot = root
        if way <= EARLIEST:
            slot = _earliest_slot(base + task, root, job, w, s, t, back=way == EARLIEST_BACK)
        elif way != LOCAL:
            label = t.label[t.labels[way // 2] + i - begin]
            slot = _slot_of(label, root, job.far, job.size, near=way % 2 == 1)
        _run_task(task, slot, job, w, s, t)
        last = max(last, w.end_s[task])
    return float(last)


def decide(now: float, query: int, view: SystemView, t: LiveTables, u: Any, out: Any) -> None:
    """Write the executor of each task of a job into ``out``.

    The whole query goes to the executor that is done with it first, unless a split one costs less: ends
    earlier, the price of its bytes counted, by ``margin`` of its time where executors are scarce. A job
    whose second draw is above the quota is not split.
    """
    s, w, x = make_slots(t.most_slots), make_walk(t), t.expected
    job = find_slots(query, view, t, s, u[0])
    apart = False
    if job.size > 1 and u[1] < t.quota[query]:
        work_s = t.work_s[query * t.classes + s.kind[0]]
        whole_s = s.backlog_s[0] + work_s - x.margin * scarcity(query, work_s, s, x) * work_s
        apart = split_cost_s(job, w, s, t) < whole_s
    for i in range(t.tasks[query + 1] - t.tasks[query]):
        slot = w.slot[i] if apart else 0
        out[i] = s.executor[slot]


def split_cost_s(job: ArrivingJob, w: JobWalk, s: Slots, t: LiveTables) -> float:
    """Place a job sub-graph by sub-graph; its cost in seconds, ``inf`` where all stays together."""
    query, x = job.query, t.expected
    w.price_s[0] = max(t.price_s, x.senders * job.queue_s / (1.0 - x.link_load) / t.core_bytes_s)
    root, end_s, paid_s, alone = 0, 0.0, 0.0, True
    if t.first[query] >= 0:
        _run_task(t.first[query], 0, job, w, s, t)
    for g in range(t.graphs[query], t.graphs[query + 1]):
        for i in range(job.size):
            w.kept_s[i] = w.free_s[i]
        w.sent[4], w.sent[5] = w.sent[0], w.sent[1]
        way = _take_best_way(g, root, job, w, s, t)
        alone = alone and way == LOCAL
        end_s = w.price_s[2]
        paid_s += w.price_s[0] * w.sent[2] + w.price_s[1]
        w.sent[6] += w.sent[2]
        if t.order[g + 1] > t.order[g]:
            root = w.slot[t.task[t.order[g + 1] - 1]]
    return math.inf if alone else end_s + paid_s


def _take_best_way(g: int, root: int, job: ArrivingJob, w: JobWalk, s: Slots, t: LiveTables) -> int:
    """Walk a sub-graph the way that costs least; the first of equals, staying together before all."""
    best, least = LOCAL, math.inf
    first, last = 2 * t.configurations[g], 2 * t.configurations[g + 1]
    ways = last - first + 3 if first < last else 1  # local, twice the earliest, configurations twice
    for i in range(ways + 1 if ways > 1 else 1):
        number = LOCAL - i if i < 3 else first + i - 3
        if i > 0 and i == ways:
            number = best
        elif i >= 3 and number % 2 == 1 and job.size == job.far:  # nothing is near
            continue
        _begin_walk(w)
        end_s = _walk_graph(g, number, root, job, w, s, t)
        w.price_s[2] = end_s
        cost_s = end_s + w.price_s[0] * w.sent[2] + w.price_s[1]
        if cost_s < least:
            best, least = number, cost_s
    return best


MOST_USED = 0.8  # of what the background leaves of the links


def _with_quota(system: System, t: LiveTables) -> LiveTables:
    """Return the tables with the share of jobs that the links can bear, were all split as on an idle cluster.

    Every role of links (cards, uplinks, core) carries at most 0.8 of what background leaves of it; the
    same share holds for all query classes.
    """
    sent = float(np.array([q.rate for q in system.queries]) @ _idle_bytes(system, t))
    free = MOST_USED * (1 - t.expected.link_load) * _carried_bytes_s(system)
    share = min(1.0, free / sent) if sent > 0 else 1.0
    return t._replace(quota=np.full(len(system.queries), share))


def idle_view(system: System) -> SystemView:
    """Return the view of a cluster without jobs."""
    n = system.executors
    return SystemView(
        system.executor_server,
        system.executor_class,
        np.zeros(n, dtype=np.int64),
        np.zeros(n),
        system.capacity,
        system.latency_s,
        0.0,
        0.0,
        0.0,
    )


def _idle_bytes(system: System, t: LiveTables) -> Floats:
    """(Q,) Bytes that a job of each class sends on an idle cluster."""
    view = idle_view(system)
    sent = np.zeros(len(system.queries))
    for query in range(len(sent)):
        s, w = make_slots(t.most_slots), make_walk(t)
        job = find_slots(query, view, t, s, 0.0)
        if job.size > 1:
            split_cost_s(job, w, s, t)
            sent[query] = w.sent[6]
    return sent


def _carried_bytes_s(system: System) -> float:
    """Bytes per second between servers drawn evenly that the links of every role can carry."""
    topology = system.topology
    if topology is None:
        return system.capacity
    roles = (topology.out_link, topology.in_link, topology.up_link, topology.down_link)
    links = [np.unique(role[role >= 0]) for role in roles]
    return min(
        float(topology.link_capacity[topology.core]),
        *(float(topology.link_capacity[k].min() * len(k)) for k in links if len(k)),
    )


LINKS = ("live", "none")
SHARES = (1.0, 0.5, 0.2, 0.0)


def _build(system: System, placement: Placement | None, options: Mapping[str, Any]) -> SchedulerTables:
    tables = build_live(system, required_placement("nona-live", placement), options["link"] == "live")
    if not tables.live:
        tables = _with_quota(system, tables)
    return SchedulerTables(tables._replace(quota=options["split"] * tables.quota), 2)


SCHEDULER = Scheduler(
    name="nona-live",
    kind="bind",
    family="placement",
    network_view=NetworkView.N4,
    summary="Keeps a query whole or splits it as the placement allows, whichever ends first in the "
    "present queues.",
    source="Ours: nona's configurations and price of traffic, list scheduling and least work left combined",
    adaptation=(
        "Not in the paper on Nona. When a job arrives, each sub-graph is timed through the present queues. "
        "Candidates are the placement's configurations, all tasks on one server, and each task where it "
        "ends first (HEFT: Topcuoglu, Hariri and Wu, IEEE TPDS 2002). Bytes cost the placement's price of "
        "congestion. With option link: none, or with several links, it does not read the link's queue. "
        "In the evidence, short simulations before the run choose the share of jobs that may be split "
        "(option split: 1, 0.5, 0.2 or 0). They may also choose to draw configurations as nona-d2 does."
    ),
    decide=decide,
    build=_build,
    settings={
        "link": PolicyOption(
            "live",
            "live: reads the link's queue; none: takes the wait that its background leads to",
            words=("live", "none"),
        ),
        "split": PolicyOption(1.0, "the share of the jobs that may be split", most=1.0),
    },
    needs_placement=True,
    rehearsals=(*(Rehearsal({"split": share}) for share in SHARES), Rehearsal({}, decided_by="nona-d2")),
    reads_queues=True,
    takes_lists=True,
    style=ChartStyle("#8b3fd9", "longdash", "circle-cross"),
)
