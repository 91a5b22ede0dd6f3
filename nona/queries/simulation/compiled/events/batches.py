"""Executors that take several equal tasks in one step, as in ``batches``.

The tasks of one key that wait at one executor are a queue of their own; ``head`` of the executor is the
first of its queues that are not empty, in no order. An executor decides at ``due_s``, after all else at that
instant.
"""

from __future__ import annotations

import math
from typing import Any

from nona.core.compiled.memory import (
    STARTED,
    State,
    background_work_s_of,
    batch_sizes_of,
    clock_at,
    due_executors_of,
    due_s_of,
    events_of,
    executors_at,
    jobs_at,
    plan_at,
    preferred_of,
    push,
    queues_at,
    steps_of,
    task_traces_at,
    tasks_at,
)
from nona.queries.simulation.batching import members_taken
from nona.queries.simulation.compiled.events.loads import (
    absorb,
    absorb_shared,
    bring_up,
    catch_up,
    hold,
    run_background,
)
from nona.queries.simulation.compiled.events.pools import begin, decide_at, end_shared, next_instance
from nona.queries.simulation.reference.kernel import BACKGROUND, JOB_SHIFT, KIND_SHIFT, TASK_END


def stand_in_queue(s: State, place: int, now: float) -> None:
    """Append the task at ``place``, which has all its inputs, to its queue."""
    c = clock_at(s, 0)
    task = tasks_at(s, place)
    e = task.executor
    bring_up(s, e, now)
    x = executors_at(s, e)
    task.fill_s = _idle_s(s, e, now)
    task.before = x.absorbed
    c.joined += 1
    task.order = c.joined
    k = _queue_of(s, place)
    queue = queues_at(s, k)
    if queue.waiting == 0:
        queue.previous = -1
        queue.next = x.head
        if x.head >= 0:
            queues_at(s, x.head).previous = k
        x.head = k
    append(s, queue, place)
    queue.waiting += 1
    if plan_at(s, task.plan).ahead:
        _form(s, k, now)
    if x.shared:
        if x.idle:
            decide_at(s, e, now)
    elif not x.active:
        decide_at(s, e, now if now > x.free_s else x.free_s)


def append(s: State, queue: Any, place: int) -> None:
    """Put the task at ``place`` behind the others of a queue, and of the waiting tasks of its job."""
    task = tasks_at(s, place)
    job = jobs_at(s, task.slot)
    task.queue_next = -1
    task.queue_previous = queue.tail
    if queue.tail >= 0:
        tasks_at(s, queue.tail).queue_next = place
    else:
        queue.head = place
    queue.tail = place
    task.wait_next = -1
    task.wait_previous = job.wait_tail
    if job.wait_tail >= 0:
        tasks_at(s, job.wait_tail).wait_next = place
    else:
        job.wait_head = place
    job.wait_tail = place


def take_out(s: State, queue: Any, place: int) -> None:
    """Take it out of both."""
    task = tasks_at(s, place)
    job = jobs_at(s, task.slot)
    if task.queue_previous >= 0:
        tasks_at(s, task.queue_previous).queue_next = task.queue_next
    else:
        queue.head = task.queue_next
    if task.queue_next >= 0:
        tasks_at(s, task.queue_next).queue_previous = task.queue_previous
    else:
        queue.tail = task.queue_previous
    if task.wait_previous >= 0:
        tasks_at(s, task.wait_previous).wait_next = task.wait_next
    else:
        job.wait_head = task.wait_next
    if task.wait_next >= 0:
        tasks_at(s, task.wait_next).wait_previous = task.wait_previous
    else:
        job.wait_tail = task.wait_previous


def expect(s: State, place: int, members: int) -> None:
    """So many picked tasks, equal to the one at ``place``, are one batch."""
    queues_at(s, _queue_of(s, place)).limit = members


def decide(s: State, now: float) -> None:
    """Start what may start on the executor whose turn it is."""
    c = clock_at(s, 0)
    e = c.decider
    _next_due(s)
    x = executors_at(s, e)
    if x.shared:
        _decide_shared(s, e, now)
        return
    if x.active:
        return
    bring_up(s, e, now)
    if x.free_s > now:
        _after_background(s, e)
        return
    if x.head < 0 and x.served == x.absorbed:
        return
    last = x.last
    x.last = -1
    if last >= 0 and c.run_on and x.free_s == now and _run_on(s, e, e, last, now):
        return
    k = _first_ready(s, e, now)
    if _background_first(s, e, k):
        run_background(s, e, now)
        _after_background(s, e)
    elif k >= 0:
        _start_from(s, k, e, now)
    elif x.head >= 0:
        decide_at(s, e, _due_s(s, e))


def _start_from(s: State, k: int, i: int, now: float) -> None:
    """Start the batch at the head of queue ``k`` on instance ``i``."""
    first = queues_at(s, k).head
    _merge(s, k, now)
    members = _size(s, k, now)
    _leave_formed(s, k, members)
    place = first
    for n in range(members):
        follower = tasks_at(s, place).queue_next
        _leave_queue(s, place)
        tasks_at(s, place).queue_next = follower if n + 1 < members else -1
        place = follower
    _start(s, i, first, members, now)


def _decide_shared(s: State, e: int, now: float) -> None:
    """Start what may start on the idle instances of pool ``e``."""
    c = clock_at(s, 0)
    x = executors_at(s, e)
    absorb_shared(s, e, now)
    if x.next_s < math.inf:
        decide_at(s, e, x.next_s)
    if x.head < 0 and x.served == x.absorbed:
        return
    i = e
    while i >= 0:
        y = executors_at(s, i)
        if not y.active:
            last = y.last
            y.last = -1
            if last >= 0 and c.run_on and y.end_s == now:
                _run_on(s, e, i, last, now)
        i = y.pool_next
    while x.idle:
        i = next_instance(s, e)
        k = _first_ready(s, e, now)
        if _background_first(s, e, k):
            service = background_work_s_of(s)[e, x.served - x.dropped]
            x.served += 1
            x.ended = x.served
            executors_at(s, i).task = -1
            executors_at(s, i).key = (BACKGROUND << KIND_SHIFT) + (i << JOB_SHIFT) + 1
            begin(s, i, service, now)
        elif k >= 0:
            _start_from(s, k, i, now)
        else:
            if x.head >= 0:
                decide_at(s, e, _due_s(s, e))
            return


def _background_first(s: State, e: int, k: int) -> bool:
    """Return whether background comes before the head of queue ``k`` (−1: before no task)."""
    x = executors_at(s, e)
    return bool(x.served < x.absorbed and (k < 0 or tasks_at(s, queues_at(s, k).head).before > x.served))


def _next_due(s: State) -> None:
    c = clock_at(s, 0)
    decided = c.decider
    due_s_of(s)[decided] = math.inf
    c.due_s = math.inf
    left = 0
    for k in range(c.due_executors):
        e = due_executors_of(s)[k]
        if e == decided:
            continue
        due_executors_of(s)[left] = e
        left += 1
        if due_s_of(s)[e] < c.due_s or (due_s_of(s)[e] == c.due_s and e < c.decider):
            c.due_s = due_s_of(s)[e]
            c.decider = e
    c.due_executors = left


def _after_background(s: State, e: int) -> None:
    """Background is in service: decide at its end, or let what waits behind it run too."""
    x = executors_at(s, e)
    if x.head >= 0:
        decide_at(s, e, x.free_s)
    else:
        catch_up(s, e, math.inf)


def _run_on(s: State, e: int, i: int, last: int, now: float) -> bool:
    """Start, on instance ``i``, what waits in pool ``e`` for all jobs of the batch that ended."""
    first = _waits_here(s, e, last, -1)
    if first < 0:
        return False
    key = plan_at(s, tasks_at(s, first).plan).key
    place = last
    members = 0
    while place >= 0:
        if _waits_here(s, e, place, key) < 0:
            return False
        members += 1
        place = tasks_at(s, place).queue_next
    if clock_at(s, 0).picks and members != queues_at(s, _queue_of(s, first)).limit:
        return False
    _leave_formed(s, _queue_of(s, first), members)
    place = last
    before = -1
    while place >= 0:
        member = _waits_here(s, e, place, key)
        _leave_queue(s, member)
        tasks_at(s, member).queue_next = -1
        if before >= 0:
            tasks_at(s, before).queue_next = member
        before = member
        place = tasks_at(s, place).queue_next
    _start(s, i, first, members, now)
    return True


def _waits_here(s: State, e: int, place: int, key: int) -> int:
    """Return the job's first task that waits for the same executor (with this key, if any); −1: none."""
    ended = tasks_at(s, place)
    if ended.missing != STARTED or ended.executor != e:  # a job that has just arrived took the place
        return -1
    waiting = jobs_at(s, ended.slot).wait_head
    while waiting >= 0:
        task = tasks_at(s, waiting)
        if task.executor == e and (key < 0 or plan_at(s, task.plan).key == key):
            return int(waiting)
        waiting = task.wait_next
    return -1


def _first_ready(s: State, e: int, now: float) -> int:
    """Of the queues with a batch that may start, the one whose head joined first; −1: none."""
    best = -1
    k = executors_at(s, e).head
    while k >= 0:
        queue = queues_at(s, k)
        if plan_at(s, tasks_at(s, queue.head).plan).ahead:
            _form(s, k, now)
        order = tasks_at(s, queue.head).order
        if (best < 0 or order < tasks_at(s, queues_at(s, best).head).order) and _size(s, k, now) > 0:
            best = k
        k = queue.next
    return int(best)


def _size(s: State, k: int, now: float) -> int:
    """Members of the batch that may start from this queue; 0: none may."""
    queue = queues_at(s, k)
    if clock_at(s, 0).picks:
        return int(queue.waiting) if queue.waiting == queue.limit else 0
    rule = plan_at(s, tasks_at(s, queue.head).plan)
    if not rule.ahead:
        return int(_taken(s, k, queue.head, queue.waiting, 0, now)[0])
    return int(queue.first)


def _merge(s: State, k: int, now: float) -> None:
    """Join both batches that formed ahead, if the second is late and they are not too large."""
    queue = queues_at(s, k)
    if queue.second and not queue.full & 1 and queue.first + queue.second <= queue.limit:
        later = tasks_at(s, _nth(s, queue.head, queue.first))
        delay_s = plan_at(s, later.plan).delay_s
        if delay_s > 0 and now >= later.latest_s + delay_s:
            queue.first += queue.second
            queue.second = 0
            queue.full = 1


def _form(s: State, k: int, now: float) -> None:
    """Let batches form ahead, or grow."""
    queue = queues_at(s, k)
    ahead = plan_at(s, tasks_at(s, queue.head).plan).ahead
    while queue.waiting > queue.first + queue.second:
        batches = (queue.first > 0) + (queue.second > 0)
        grows = batches > 0 and not queue.full & batches
        if not grows and batches >= ahead:
            return
        before = 0
        if grows:
            before = queue.second if queue.second else queue.first
        formed = queue.first + queue.second
        taken, full = _taken(s, k, _nth(s, queue.head, formed), queue.waiting - formed, before, now)
        if not taken:
            return
        number = batches if grows else batches + 1
        if number == 1:
            queue.first += taken
        else:
            queue.second += taken
        if full:
            queue.full |= number


def _leave_formed(s: State, k: int, members: int) -> None:
    """Start the first of the batches that formed ahead, or let members of some run on."""
    queue = queues_at(s, k)
    if queue.first == members:
        queue.first = queue.second
        queue.second = 0
        queue.full >>= 1
    else:
        queue.first = 0
        queue.second = 0
        queue.full = 0


def _taken(s: State, k: int, oldest: int, waiting: int, formed: int, now: float) -> tuple[int, bool]:
    """Return how many ``waiting`` tasks from ``oldest`` on a batch of ``formed`` takes, and if it is full."""
    limit = queues_at(s, k).limit
    task = tasks_at(s, oldest)
    of_plan = tasks_at(s, queues_at(s, k).head).plan
    rule = plan_at(s, of_plan)
    reach = min(formed + waiting, limit)
    largest = limit
    preferred = limit if reach == limit else 0
    if rule.largest:
        largest = rule.largest
        preferred = preferred_of(s)[of_plan, reach]
    late = rule.delay_s > 0 and now >= task.latest_s + rule.delay_s
    return members_taken(waiting, formed, limit, late, rule.delay_s == 0, preferred, largest)


def _due_s(s: State, e: int) -> float:
    """When the next batch may start for its age."""
    due_s = math.inf
    k = executors_at(s, e).head
    while k >= 0 and not clock_at(s, 0).picks:
        task = tasks_at(s, queues_at(s, k).head)
        due_s = min(due_s, task.latest_s + plan_at(s, task.plan).delay_s)
        k = queues_at(s, k).next
    return due_s


def _nth(s: State, place: int, n: int) -> int:
    for _ in range(n):
        place = tasks_at(s, place).queue_next
    return place


def _queue_of(s: State, place: int) -> int:
    task = tasks_at(s, place)
    return int(task.executor * clock_at(s, 0).keys + plan_at(s, task.plan).key)


def _leave_queue(s: State, place: int) -> None:
    """Take a task out of its queue, and that from those of its executor that are not empty."""
    task = tasks_at(s, place)
    queue = queues_at(s, _queue_of(s, place))
    take_out(s, queue, place)
    queue.waiting -= 1
    if queue.waiting == 0:
        if queue.previous >= 0:
            queues_at(s, queue.previous).next = queue.next
        else:
            executors_at(s, task.executor).head = queue.next
        if queue.next >= 0:
            queues_at(s, queue.next).previous = queue.previous


def _idle_s(s: State, e: int, now: float) -> float:
    """Seconds up to now in which nothing ran on ``e``."""
    x = executors_at(s, e)
    if x.shared:
        return float(x.idle_s + max(0.0, now - x.idle_since_s)) if x.idle else float(x.idle_s)
    return float(x.idle_s + (now - x.free_s)) if now > x.free_s else float(x.idle_s)


def _start(s: State, i: int, first: int, members: int, now: float) -> None:
    """Start the batch from ``first`` on, chained by ``queue_next``, on instance ``i``."""
    c = clock_at(s, 0)
    head = tasks_at(s, first)
    x = executors_at(s, i)
    job = jobs_at(s, head.slot)
    if c.first <= job.number <= c.last:
        batch_sizes_of(s)[job.query, members] += 1
    service = steps_of(s)[x.kind * c.keys + head.plan, members - 1] * head.draw
    idle_s = _idle_s(s, head.executor, now)
    if x.shared:
        x.task = first
        x.key = _end_key(s, first)
        executors_at(s, x.gpu).steps += 1
        x.step = executors_at(s, x.gpu).steps
        begin(s, i, service, now)
    else:
        x.steps += 1
        x.step = x.steps
        occupy(s, first, hold(s, i, now, service))
    place = first
    while place >= 0:
        task = tasks_at(s, place)
        task.fill_s = max(0.0, idle_s - task.fill_s)
        note_run(s, place, now, x.step, members)
        place = task.queue_next


def occupy(s: State, place: int, end: float) -> None:
    """Occupy the executor of the task at ``place``, or of the batch that it heads, until ``end``."""
    c = clock_at(s, 0)
    task = tasks_at(s, place)
    x = executors_at(s, task.executor)
    x.active = 1
    x.task = place
    push(events_of(s), c.events, end, _end_key(s, place), task.executor)
    c.events += 1


def _end_key(s: State, place: int) -> int:
    """Return the key of the end of the task at ``place``."""
    job = jobs_at(s, tasks_at(s, place).slot)
    return int((TASK_END << KIND_SHIFT) + (job.number << JOB_SHIFT) + place - job.base)


def note_run(s: State, place: int, begin: float, step: int, members: int) -> None:
    """Record that the task at ``place`` runs from ``begin`` until its executor is free."""
    task = tasks_at(s, place)
    task.missing = STARTED
    task.members = members
    task.start_s = begin
    x = executors_at(s, task.executor)
    if not x.shared:
        task.end_s = x.free_s
        _trace_task(s, place, task.executor, step)


def note_end(s: State, i: int, place: int, now: float) -> None:
    """Record that the task at ``place`` has ended on instance ``i`` of a pool."""
    tasks_at(s, place).end_s = now
    _trace_task(s, place, i, executors_at(s, i).step)


def _trace_task(s: State, place: int, e: int, step: int) -> None:
    c = clock_at(s, 0)
    task = tasks_at(s, place)
    job = jobs_at(s, task.slot)
    if job.traced:
        row = task_traces_at(s, c.task_traces)
        c.task_traces += 1
        row.job = job.number
        row.query = job.query
        row.task = place - job.base
        row.executor = e
        row.ready_s = task.latest_s
        row.start_s = task.start_s
        row.end_s = task.end_s
        row.step = step
        row.members = task.members


def step_ended(s: State, e: int, goes_on: bool, now: float) -> None:
    """End the batch on ``e``; ``goes_on``: none of its jobs is complete."""
    x = executors_at(s, e)
    if x.shared:
        x.last = x.task if goes_on else -1
        end_shared(s, e, now)
        return
    if x.next_s <= now:
        absorb(s, e, now)
    x.active = 0
    x.last = x.task if goes_on else -1
    if clock_at(s, 0).picks and x.head < 0:  # nothing can run on; the policy asks when this executor is free
        catch_up(s, e, math.inf)
    elif x.head >= 0 or x.served < x.absorbed:
        decide_at(s, e, now)
