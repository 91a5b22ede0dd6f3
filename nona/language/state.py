"""The memory of the loop: records of engines, requests and links, and arrays; −1 stands for none."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.core.compiled.memory import EVENT
from nona.language.records import STEP, MeasuredWindow, Requests, RequestTimes, Sums
from nona.language.routers import NUMBERS, RouterState, make_board
from nona.language.system import BLOCK_TOKENS, FIRST_RATIO, Engine, LanguageSystem

VLLM, SGLANG, STATIC = range(3)
BOTH, PREFILL, DECODE = range(3)


def _record(**fields: str) -> np.dtype[Any]:
    """Fields by kind: ``f`` floats, ``i`` whole numbers."""
    kinds = {"f": "f8", "i": "i8"}
    return np.dtype([(name, kinds[kind]) for kind, part in fields.items() for name in part.split()])


CLOCK = _record(
    i="engines requests rows opens next_open events router apart handed_on arrived left first jobs report_at "
    "report_every",
    f="now_s begin_s close_s drawn_s latency_s",
)
ENGINE = _record(
    i="budget sequences chunked margin order role lookahead experts active head tail waits runs members busy "
    "due preempted shares_prefixes idle_blocks hits",
    f="a b g c q e kv_bytes ratio composed_s visible_s end_s due_s",
)
REQUEST = _record(
    i="row inputs outputs prefix priority most_blocks prefix_blocks taken made computed held step following",
    f="arrival_s seen_s last_s",
)  # 128 bytes: two lines of the processor's cache
MESSAGE = _record(i="hops", f="set_out_s through_s")
LINK = _record(i="at", f="capacity free_s")


class EngineState(NamedTuple):
    """All of a run of E engines, R rows, P prefixes and L links.

    ``messages`` are the KV of requests on their way, ``running`` (E, S) the requests of each engine in the
    order of admission. ``idle_after`` and ``idle_before`` (E, P + 1) chain the idle prefixes of each, from P
    to P. ``paths`` (E, E, H) are the links between engines, ``background_s`` and ``background_work_s`` (L, W)
    what others send.
    """

    clock: Any
    engines: Any
    requests: Any
    messages: Any
    running: Ints
    events: Any
    next_of_loop: Ints
    cached: Ints
    users: Ints
    idle_after: Ints
    idle_before: Ints
    prefix_tokens: Ints
    outputs: Floats
    places: Ints
    links: Any
    paths: Ints
    background_s: Floats
    background_work_s: Floats
    row_tokens: Ints
    row_decodes: Ints
    fill: Ints
    router: RouterState
    times: RequestTimes
    sums: Sums
    steps: Any


def state_of(system: LanguageSystem, requests: Requests, router: str, window: MeasuredWindow) -> EngineState:
    """Return the state before the first event; no background is drawn yet."""
    engines, rows = len(system.engines), len(system.rows)
    shared = any(engine.shares_prefixes for engine in system.engines)
    prefixes = 1 + int(requests.prefix.max(initial=-1)) if shared else 0
    loops = requests.first_of_loops(rows)
    loops[[not row.concurrency for row in system.rows]] = -1
    links = np.zeros(len(system.links), dtype=LINK)
    links["capacity"] = [link.capacity for link in system.links]
    unchained = np.tile(np.arange(prefixes + 1), (engines, 1))
    return EngineState(
        clock=_clock(system, requests, NUMBERS[router], window, loops),
        engines=_engines(system.engines),
        requests=_requests(system, requests),
        messages=np.zeros(len(requests), dtype=MESSAGE),
        running=np.full((engines, 1 + max(e.sequences for e in system.engines)), -1, dtype=np.int64),
        events=np.zeros(len(requests) + 1, dtype=EVENT),
        next_of_loop=loops,
        cached=np.zeros((engines, prefixes), dtype=np.int64),
        users=np.zeros((engines, prefixes), dtype=np.int64),
        idle_after=unchained,
        idle_before=unchained.copy(),
        prefix_tokens=np.zeros((engines, rows), dtype=np.int64),
        outputs=np.array([row.lengths.mean_outputs for row in system.rows]),
        places=system.places,
        links=links,
        paths=system.paths,
        background_s=np.zeros((0, 0)),
        background_work_s=np.zeros((0, 0)),
        row_tokens=np.zeros(rows, dtype=np.int64),
        row_decodes=np.zeros(rows, dtype=np.int64),
        fill=np.zeros(BLOCK_TOKENS, dtype=np.int64),
        router=make_board(system, requests),
        times=RequestTimes.unknown(len(requests)),
        sums=Sums.zero(engines, rows),
        steps=np.zeros((engines, window.steps), dtype=STEP),
    )


def _clock(
    system: LanguageSystem, requests: Requests, router: int, window: MeasuredWindow, loops: Ints
) -> Any:
    clock = np.zeros(1, dtype=CLOCK)
    c = clock[0]
    c["engines"], c["requests"], c["rows"] = len(system.engines), len(requests), len(system.rows)
    c["router"], c["opens"] = router, int(np.isfinite(requests.arrival_s).sum())
    c["first"], c["jobs"], c["left"] = window.first, window.jobs, window.jobs
    c["begin_s"] = c["close_s"] = math.inf
    c["handed_on"], c["latency_s"] = system.first_token == "decode", system.network.latency_s
    c["apart"] = bool((loops < 0).all()) and all(e.role == "both" for e in system.engines)
    c["report_every"] = c["report_at"] = max(1, len(requests) // 50)
    return clock


def _engines(engines: tuple[Engine, ...]) -> Any:
    x = np.zeros(len(engines), dtype=ENGINE)
    for name in ("budget", "sequences", "chunked", "lookahead", "kv_bytes", "shares_prefixes"):
        x[name] = [getattr(e, name) for e in engines]
    for name in ("a", "b", "g", "c", "q", "e", "experts", "active"):
        x[name] = [getattr(e.steps, name) for e in engines]
    x["margin"] = [math.floor(e.watermark * e.blocks) for e in engines]
    x["order"] = [("vllm", "sglang", "static").index(e.order) for e in engines]
    x["role"] = [("both", "prefill", "decode").index(e.role) for e in engines]
    x["head"] = x["tail"] = -1
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
