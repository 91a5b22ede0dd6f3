"""Events: what may happen, and in which order at one instant.

An event is (time, kind, application, stage, number, version). Times decide, then the kind, then content:
nothing depends on the order in which events were made. ``version`` tells outdated events; it is never
compared, for the fields before it differ.
"""

from __future__ import annotations

Event = tuple[float, int, int, int, int, int]

END = 0  # a batch ends; number: the batch
GPU_PHASE = 1  # a batch that shares its GPU begins to compute there; number: the batch
ARRIVAL = 2  # number: the call
CONTAINERS = 3  # a container is ready or its time is over; application: invoker, stage: function
DECISION = 4  # a search ends
WAIT_OVER = 5  # a queue is to be looked at again; number: which wait
