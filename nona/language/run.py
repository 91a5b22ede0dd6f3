"""One replication of a language system: by machine code, or by the readable loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from nona.language import machine
from nona.language.engine import Loop
from nona.language.records import STEP, Requests, Run, Sums, Times, Window
from nona.language.routers import NUMBERS, make_board
from nona.language.seats import State
from nona.language.system import BLOCK_TOKENS, FIRST_RATIO, Engine, LanguageSystem
from nona.random_streams import RandomStreams
from nona.simulation.compiled.memory import EVENT
from nona.simulation.workload import background_blocks


def _record(**fields: str) -> np.dtype[Any]:
    """Fields by kind: ``f`` floats, ``i`` whole numbers."""
    kinds = {"f": "f8", "i": "i8"}
    return np.dtype([(name, kinds[kind]) for kind, part in fields.items() for name in part.split()])


CLOCK = _record(
    i="engines requests rows opens next_open events backgrounds background router apart handed_on arrived "
    "left first jobs traced report_at report_every",
    f="now_s begin_s close_s link_free_s capacity latency_s",
)
ENGINE = _record(
    i="budget sequences chunked margin order role lookahead experts active spare head tail waits runs "
    "members busy due preempted shares_prefixes idle_blocks idle_head idle_tail hits",
    f="a b g c q e kv_bytes ratio composed_s visible_s end_s due_s",
)
REQUEST = _record(
    i="row inputs outputs prefix priority most_blocks prefix_blocks taken made computed held step following",
    f="arrival_s seen_s last_s",
)

OnProgress = Callable[[float], None]


def simulate_once(
    system: LanguageSystem,
    requests: Requests,
    router: str,
    window: Window,
    readable: bool = False,
    on_progress: OnProgress | None = None,
) -> Run:
    """Simulate until the measured requests are complete; ``on_progress`` hears the share that has arrived."""
    if readable:
        return Loop(system, requests, router, window).run()
    state = _state_of(system, requests, router, window)
    background = background_blocks(system.background, RandomStreams(system.seed, window.replication), "link")
    state = _with_background(state, background, system.capacity)
    advance, clock = _machine(), state.clock
    clock["report_every"] = clock["report_at"] = max(1, len(requests) // 50)
    while (code := advance(state)) != machine.DONE:
        if code == machine.BACKGROUND:
            state = _with_background(state, background, system.capacity)
        elif on_progress is not None:
            on_progress(float(clock["arrived"][0]) / len(requests))
    traced = np.minimum(state.sums.steps, window.steps)
    rows = [state.trace[e * window.steps : e * window.steps + n] for e, n in enumerate(traced.tolist())]
    trace = np.array([tuple(row) for part in rows for row in part.tolist()], dtype=STEP)
    c = clock[0]
    over_s = min(float(c["now_s"]), float(c["close_s"]))
    return Run(requests, state.times, state.sums, trace, window, float(c["begin_s"]), over_s)


@cache
def _machine() -> Callable[[State], int]:
    """The loop as machine code: from disk in a fraction of a second, or compiled."""
    from nona.simulation.compiled.build import compile_function

    compiled: Callable[[State], int] = compile_function(machine.advance, loop=True)
    return compiled


def _state_of(system: LanguageSystem, requests: Requests, router: str, window: Window) -> State:
    engines, rows = len(system.engines), len(system.rows)
    shared = any(engine.shares_prefixes for engine in system.engines)
    prefixes = 1 + int(requests.prefix.max(initial=-1)) if shared else 0
    clock = np.zeros(1, dtype=CLOCK)
    loops = requests.first_of_loops(rows)
    loops[[not row.concurrency for row in system.rows]] = -1
    values = {
        "engines": engines, "requests": len(requests), "rows": rows, "router": NUMBERS[router],
        "opens": int(np.isfinite(requests.arrival_s).sum()), "left": window.jobs, "jobs": window.jobs,
        "first": window.first, "traced": window.steps, "begin_s": math.inf, "close_s": math.inf,
        "handed_on": system.first_token == "decode", "capacity": system.capacity,
        "latency_s": system.latency_s,
        "apart": bool((loops < 0).all()) and all(e.role == "both" for e in system.engines),
    }  # fmt: skip
    for name, value in values.items():
        clock[name] = value
    return State(
        clock=clock,
        engines=_engines(system.engines),
        requests=_requests(system, requests),
        running=np.full((engines, 1 + max(e.sequences for e in system.engines)), -1, dtype=np.int64),
        events=np.zeros(len(requests) + 1, dtype=EVENT),
        next_of_loop=loops,
        cached=np.zeros((engines, prefixes), dtype=np.int64),
        users=np.zeros((engines, prefixes), dtype=np.int64),
        idle_after=np.full((engines, prefixes), -1, dtype=np.int64),
        idle_before=np.full((engines, prefixes), -1, dtype=np.int64),
        prefix_tokens=np.zeros((engines, rows), dtype=np.int64),
        outputs=np.array([row.lengths.mean_outputs for row in system.rows]),
        places=system.places,
        trace=np.zeros((engines * window.steps, len(STEP.names or ()))),
        row_tokens=np.zeros(rows, dtype=np.int64),
        row_decodes=np.zeros(rows, dtype=np.int64),
        fill=np.zeros(16, dtype=np.int64),
        background_s=np.zeros(0),
        background_work_s=np.zeros(0),
        board=make_board(system, requests),
        times=Times.unknown(len(requests)),
        sums=Sums.zero(engines, rows),
    )


def _engines(engines: tuple[Engine, ...]) -> Any:
    x = np.zeros(len(engines), dtype=ENGINE)
    for name in ("budget", "sequences", "chunked", "lookahead", "kv_bytes", "shares_prefixes"):
        x[name] = [getattr(e, name) for e in engines]
    for name in ("a", "b", "g", "c", "q", "e", "experts", "active"):
        x[name] = [getattr(e.steps, name) for e in engines]
    x["margin"] = [math.floor(e.watermark * e.blocks) for e in engines]
    x["order"] = [("vllm", "sglang", "static").index(e.order) for e in engines]
    x["role"] = [("both", "prefill", "decode").index(e.role) for e in engines]
    x["spare"] = [e.blocks for e in engines]
    for name in ("head", "tail", "idle_head", "idle_tail"):
        x[name] = -1
    x["ratio"] = FIRST_RATIO
    x["composed_s"] = -math.inf
    return x


def _requests(system: LanguageSystem, requests: Requests) -> Any:
    q = np.zeros(len(requests), dtype=REQUEST)
    for name in ("row", "inputs", "outputs", "prefix", "arrival_s"):
        q[name] = getattr(requests, name)
    q["priority"] = np.array([row.priority for row in system.rows])[requests.row]
    q["most_blocks"] = -(-(requests.inputs + requests.outputs - 1) // BLOCK_TOKENS)
    q["prefix_blocks"] = np.minimum(requests.shared, requests.inputs - 1) // BLOCK_TOKENS
    q["following"] = q["taken"] = -1
    q["seen_s"] = q["last_s"] = math.inf
    return q


def _with_background(s: State, blocks: Iterator[Any], capacity: float) -> State:
    """The link's background drawn further; none where there is none."""
    kept = slice(int(s.clock["background"][0]), None)
    times, works = [s.background_s[kept]], [s.background_work_s[kept]]
    for _ in range(16):
        block = next(blocks, None)
        if block is not None:
            times.append(block[0])
            works.append(block[1] / capacity)
    background_s = np.concatenate(times)
    s.clock["background"], s.clock["backgrounds"] = 0, len(background_s)
    return s._replace(background_s=background_s, background_work_s=np.concatenate(works))
