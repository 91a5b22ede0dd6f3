"""Random damage to files, for the programs that look for what a reader cannot take."""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable, Sequence

MUTATIONS_USUAL = 10_000
WORDS = [
    *(b"NaN", b"-1", b"1e999", b"9" * 5000, b"null", b"{", b"}", b"[" * 3000, b'"', b"\\ud800", b"\x00"),
    *(
        b"<!DOCTYPE x [<!ENTITY a 'b'>]>&a;",
        b"<script>",
        b"->",
        b"image=",
        b"true",
        b"\n",
        b"\xff\xff\xff\xff\x7f",
    ),
]


def _spot(data: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data))
    return start, min(len(data), start + rng.choice((1, 2, 8, 64, 512)))


def _flip(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 3, 20))):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data)) + 1]


def _remove(data: bytes, rng: random.Random) -> bytes:
    start, end = _spot(data, rng)
    return data[:start] + data[end:]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    start, end = _spot(data, rng)
    return data[:end] + data[start:end] * rng.choice((1, 2, 50)) + data[end:]


def _move(data: bytes, rng: random.Random) -> bytes:
    start, end = _spot(data, rng)
    rest, at = data[:start] + data[end:], rng.randrange(len(data))
    return rest[:at] + data[start:end] + rest[at:]


def _word(data: bytes, rng: random.Random) -> bytes:
    start, end = _spot(data, rng)
    return data[:start] + rng.choice(WORDS) + data[end if rng.random() < 0.5 else start :]


def _number(data: bytes, rng: random.Random) -> bytes:
    found = list(re.finditer(rb"\d+(?:\.\d+)?", data))
    if not found:
        return _word(data, rng)
    spot = rng.choice(found)
    return data[: spot.start()] + rng.choice(WORDS) + data[spot.end() :]


def _noise(data: bytes, rng: random.Random) -> bytes:
    return rng.randbytes(rng.randrange(1, 400))


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_flip, _flip, _flip, _cut, _remove, _remove, _repeat, _move, _word, _word, _number, _noise),
)


def damaged(
    data: bytes,
    rng: random.Random,
    words: Sequence[bytes] = (),
    share: float = 0.0,
    over: Sequence[int] = (0,),
) -> bytes:
    """``data`` with one to three random changes; a ``share`` of them puts in one of ``words``.

    ``over``: how many bytes such a word may stand in place of.
    """
    for _ in range(rng.choice((1, 1, 2, 3))):
        if words and rng.random() < share:
            at = rng.randrange(len(data) + 1)
            data = data[:at] + rng.choice(words) + data[at + rng.choice(over) :]
        else:
            data = rng.choice(MUTATIONS)(data, rng) or b"x"
    return data


def options(what: str) -> argparse.Namespace:
    """``mutations`` and ``seed`` from the command line of a program that does ``what``."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("mutations", nargs="?", type=int, default=MUTATIONS_USUAL)
    parser.add_argument("seed", nargs="?", type=int, default=0)
    return parser.parse_args()
