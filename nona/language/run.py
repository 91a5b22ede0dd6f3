"""One replication of a language system, by machine code."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from nona.core.random_streams import RandomStreams
from nona.language import engine
from nona.language.draws import draw_requests
from nona.language.records import MeasuredWindow, Requests, RouterReplication
from nona.language.state import EngineState, state_of
from nona.language.system import Engine, LanguageSystem, Lengths, RequestClass, StepTimes
from nona.queries.simulation.compiled.arrays import Items
from nona.queries.simulation.workload import BLOCK, link_blocks

OnProgress = Callable[[float], None]
BLOCKS = 16  # of background are drawn at a time


def simulate_once(
    system: LanguageSystem,
    requests: Requests,
    router: str,
    window: MeasuredWindow,
    on_progress: OnProgress | None = None,
) -> RouterReplication:
    """Simulate until the measured requests are complete; ``on_progress`` gets the share that has arrived."""
    state, background = state_of(system, requests, router, window), _Background(system, window.replication)
    advance, clock = _machine_for(state), state.clock
    while (code := advance(state)) != engine.DONE:
        if code == engine.BACKGROUND:
            state = background.drawn_on(state)
        elif on_progress is not None:
            on_progress(float(clock["arrived"][0]) / len(requests))
    c = clock[0]
    over_s = min(float(c["now_s"]), float(c["close_s"]))
    return RouterReplication(
        requests, state.times, state.sums, state.steps, window, float(c["begin_s"]), over_s
    )


def _machine_for(state: EngineState) -> Callable[[EngineState], int]:
    """Return the loop as machine code: from disk, or compiled. States are of one type."""
    import numba

    type_of: Callable[[object], Any] = numba.typeof
    return _machine(type_of(state))


@cache
def _machine(state_type: Any) -> Callable[[EngineState], int]:
    from numba import int64

    from nona.core.compiled.build import compile_function

    compiled: Callable[[EngineState], int] = compile_function(engine.advance, int64(state_type), loop=True)
    return compiled


def make_ready() -> None:
    """Compile the loop where need be."""
    row = RequestClass("chat", "llm", 1.0, Lengths(np.array([[1, 1]])))
    system = LanguageSystem((Engine("gpu", "llm", StepTimes(1e-3), 10),), (row,))
    simulate_once(system, draw_requests(system, 2, 0), "round-robin", MeasuredWindow(1))


class _Background:
    """Messages of others over the links, drawn as far as the machine has come."""

    def __init__(self, system: LanguageSystem, replication: int) -> None:
        streams = RandomStreams(system.seed, replication)
        links = system.links
        self.items = Items([link_blocks(of.background, streams, of.name, of.capacity) for of in links])
        self.span_s = BLOCKS * BLOCK / max([1e-9, *(of.background.rate for of in links)])

    def drawn_on(self, s: EngineState) -> EngineState:
        """Return the state with background that lasts a while longer."""
        for link in self.items.refill(self.items.horizon_s + self.span_s, s.links["at"]):
            s.links["at"][link] = 0
        s.clock["drawn_s"] = self.items.horizon_s
        return s._replace(background_s=self.items.time_s, background_work_s=self.items.work_s)
