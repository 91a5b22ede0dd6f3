"""One executor that takes tasks of several kinds in batches, simulated in compiled code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nona.compiled import compiled


@compiled
def take_steps(
    time_s: Any, kind: Any, factor: Any, offset: Any, delay_s: Any, step_s: Any, preferred: Any
) -> tuple[Any, Any]:
    """When the step of each arrival begins, and how many are in it; nan and 0 where it never does.

    Kind k has steps of up to ``offset[k + 1] - offset[k]``; b of them take ``step_s[offset[k] + b - 1]``
    times the ``factor`` of the first. ``preferred`` there is the largest number up to b that starts before
    ``delay_s[k]`` is over, 0 where there is none.
    """
    n, kinds = len(time_s), len(delay_s)
    begin_s, members = np.full(n, np.nan), np.zeros(n, dtype=np.int64)
    behind = np.full(n, -1, dtype=np.int64)  # the next one of its kind
    head, tail, waiting = np.full(kinds, -1), np.full(kinds, -1), np.zeros(kinds, dtype=np.int64)
    now, i = 0.0, 0
    while True:
        chosen, number, wake_s = -1, 0, math.inf
        for k in range(kinds):
            if waiting[k] == 0:
                continue
            due_s = time_s[head[k]] + delay_s[k]
            most = min(waiting[k], offset[k + 1] - offset[k])
            best = preferred[offset[k] + most - 1]
            if best > 0 and (delay_s[k] == 0.0 or now < due_s):
                most = best
            elif now < due_s:
                wake_s = min(wake_s, due_s)
                continue
            if chosen < 0 or head[k] < head[chosen]:
                chosen, number = k, most
        if chosen < 0:
            now = min(wake_s, time_s[i] if i < n else math.inf)
            if now == math.inf:
                return begin_s, members
        else:
            seconds = step_s[offset[chosen] + number - 1] * factor[head[chosen]]
            for _ in range(number):
                begin_s[head[chosen]], members[head[chosen]] = now, number
                head[chosen] = behind[head[chosen]]
            waiting[chosen] -= number
            now += seconds
        while i < n and time_s[i] <= now:
            k = kind[i]
            if waiting[k] == 0:
                head[k] = i
            else:
                behind[tail[k]] = i
            tail[k] = i
            waiting[k] += 1
            i += 1
            if chosen < 0:
                break  # an idle executor looks at each
