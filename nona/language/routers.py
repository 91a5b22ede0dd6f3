"""Routers: to which engine a request goes. Both loops call :func:`route`, as Python or as machine code."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.core.registry import ChartStyle, Registry, Strategy
from nona.language.records import Requests
from nona.language.system import BLOCK_TOKENS, LanguageSystem
from nona.scenario.language import ROUTERS as NAMES

ROUND_ROBIN, LEAST_REQUESTS, LEAST_KV, PREFIX_AFFINITY, KV_LIVE = range(len(NAMES))
NUMBERS = {name: number for number, name in enumerate(NAMES)}
_OURS = "Ours: nona-live's rule, to look at queues where they are, for tokens and caches."
_USUAL = "What reverse proxies in front of engines do."


@dataclass(frozen=True, slots=True, kw_only=True)
class Router(Strategy):
    """A way to choose the engine of a request."""

    called = "Router"


ROUTERS: Registry[Router] = Registry(
    "Router",
    [
        Router(
            name=NAMES[ROUND_ROBIN],
            summary="One engine after the other.",
            source=_USUAL,
            adaptation="none",
            style=ChartStyle("#8390a6", "solid", "circle"),
        ),
        Router(
            name=NAMES[LEAST_REQUESTS],
            summary="The engine with the fewest requests, waiting or running.",
            source=_USUAL,
            adaptation="The counts are exact and of this instant.",
            style=ChartStyle("#1f93d1", "solid", "square"),
        ),
        Router(
            name=NAMES[LEAST_KV],
            summary="The engine whose cache is least full, with the prompts that are still to compute.",
            source="As the inference gateways of Kubernetes do by their engines' reports; recollected.",
            adaptation="The figures are exact and of this instant; theirs are some seconds old.",
            style=ChartStyle("#14a394", "solid", "diamond"),
        ),
        Router(
            name=NAMES[PREFIX_AFFINITY],
            summary="The engine that got the last request with this prefix, unless it has many more.",
            source="As the routers of SGLang and Dynamo do by prefix trees; recollected.",
            adaptation="One prefix counts; many is above 2 × the least + 4; else the fewest requests.",
            style=ChartStyle("#e08a1e", "dash", "triangle-up"),
        ),
        Router(
            name=NAMES[KV_LIVE],
            summary="The engine where the answer would be complete first, by links, prompts, steps, cache.",
            source=_OURS,
            adaptation="Step times are known; the length of the answer is the mean of its row.",
            style=ChartStyle("#6366f1", "solid", "star"),
        ),
    ],
)


class RouterState(NamedTuple):
    """The state of the engines that routers see.

    By engine: ``requests`` that were sent there, ``queued`` tokens of prompts still to compute, ``free`` of
    its ``blocks``, ``coming`` ones of KV on its way there, ``sent_s``: how long the KV that is sent now would
    be on its way, ``most`` blocks of one request, ``rates`` (E, 4): a, b, g, c of its steps. ``turns``
    counts the requests of round-robin by list of engines; ``home`` holds the engine that got the last request
    with a prefix, by prefix (−1: none).
    """

    requests: Ints
    queued: Ints
    free: Ints
    blocks: Ints
    coming: Ints
    sent_s: Floats
    most: Ints
    rates: Floats
    next_engine: Ints
    home: Ints


def make_board(system: LanguageSystem, requests: Requests) -> RouterState:
    """All engines are empty."""
    requests_at, queued, coming = np.zeros((3, len(system.engines)), dtype=np.int64)
    blocks = np.array([e.blocks for e in system.engines], dtype=np.int64)
    sent_s = np.zeros(len(system.engines))
    rates = np.array([(e.steps.a, e.steps.b, e.steps.g, e.steps.c) for e in system.engines])
    turns = np.zeros(2 * len(system.rows), dtype=np.int64)
    home = np.full(1 + int(requests.prefix.max(initial=-1)), -1, dtype=np.int64)
    most = system.most_blocks
    return RouterState(requests_at, queued, blocks.copy(), blocks, coming, sent_s, most, rates, turns, home)


def route(
    router: int,
    board: RouterState,
    places: Ints,
    turn: int,
    blocks: int,
    tokens: int,
    outputs: float,
    prefix: int,
) -> int:
    """Choose one of the engines ``places`` (−1 ends them) for a request; −1 where it fits none.

    ``turn`` is their place in ``turns``, ``blocks`` are what the request needs in the end, ``tokens`` those
    of its prompt, ``outputs`` those that requests of its row make on average.
    """
    count = 0
    while count < len(places) and places[count] >= 0:
        count += 1
    best, lowest, fewest = -1, math.inf, math.inf
    for k in range(count):
        e = places[(board.next_engine[turn] + k) % count] if router == ROUND_ROBIN else places[k]
        if blocks > board.most[e]:
            continue
        if router == ROUND_ROBIN:
            board.next_engine[turn] += k + 1
            return int(e)
        if router == KV_LIVE:
            cost = _expected_s(board, e, tokens, outputs)
        elif router == LEAST_KV:
            cost = (_taken(board, e) + (board.queued[e] + tokens) / BLOCK_TOKENS) / board.blocks[e]
        else:
            cost = float(board.requests[e])
        fewest = min(fewest, float(board.requests[e]))
        if cost < lowest:
            best, lowest = int(e), cost
    if router == PREFIX_AFFINITY and prefix >= 0 and best >= 0:
        home = board.home[prefix]
        # it may serve none of these, and must not do so at the price of a long queue
        for k in range(count):
            if places[k] == home and blocks <= board.most[home] and board.requests[home] <= 2 * fewest + 4:
                return int(home)
        board.home[prefix] = best
    return best


def _taken(board: RouterState, e: int) -> int:
    """Return the blocks that are in use, or will be once the KV on its way is there."""
    return int(board.blocks[e] - board.free[e] + board.coming[e])


def _expected_s(board: RouterState, e: int, tokens: int, outputs: float) -> float:
    """Return what its answer would take: its KV's way, prompts ahead, its own, tokens, a wait for blocks."""
    kv = BLOCK_TOKENS * _taken(board, e)
    token_s = (
        board.rates[e, 0] + board.rates[e, 1] * (board.requests[e] + 1) + board.rates[e, 2] * (kv + tokens)
    )
    answer_s = board.sent_s[e] + (board.queued[e] + tokens) * board.rates[e, 3] + outputs * token_s
    short = kv + board.queued[e] + tokens - BLOCK_TOKENS * board.blocks[e]
    if short > 0 and kv > 0:  # the cache turns over once in the life of an answer
        answer_s += short / kv * outputs * token_s
    return float(answer_s)
