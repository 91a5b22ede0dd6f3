"""Traces of requests to language models: arrivals with input and output tokens, read as they are.

* Our own tables, and those of the Azure LLM service (2023; ``ContextTokens``, ``GeneratedTokens``): a column
  of arrivals, as in :mod:`nona.scenario.traces`, and two of tokens.
* BurstGPT (``Request tokens``, ``Response tokens``): a request that failed has no response.
* Mooncake's JSON lines (``input_length``, ``output_length``, ``hash_ids`` of blocks of 512 tokens). Its
  arrivals lie in buckets of 3 s: those of one instant are spread evenly over the bucket.
* GuideLLM's JSON report (``prompt_tokens``, ``output_tokens`` of each request), as versions 0.2 to 0.5
  write it by their public code; no report of theirs was at hand. Nor was a file of BurstGPT or Mooncake.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.core.errors import SimulationError
from nona.scenario.language import MOST_TOKENS
from nona.scenario.traces import numbered_rows, parse_time, time_column

HASH_TOKENS = 512
_INPUT = ("inputtokens", "contexttokens", "requesttokens", "inputlength", "prompttokens")
_OUTPUT = ("outputtokens", "generatedtokens", "responsetokens", "outputlength", "completiontokens")


@dataclass(frozen=True, eq=False)
class TokenTrace:
    """Requests in the order of their arrival.

    ``times_s`` (n,) begins at 0; ``tokens`` (n, 2) are input and output; ``prefix`` (n, 2) is the number of
    the prefix that a prompt shares with others (−1: none) and its tokens. ``left_out`` requests had no input
    or no output, ``spread`` ones were moved off an instant that several had.
    """

    times_s: Floats
    tokens: Ints
    prefix: Ints | None = None
    left_out: int = 0
    spread: int = 0


def read_tokens(data: bytes, filename: str) -> TokenTrace:
    r"""Read a trace in whichever known layout it has.

    >>> trace = read_tokens(b"arrival_s,input_tokens,output_tokens\n3,10,2\n1,8,4\n4,8,0\n", "t.csv")
    >>> trace.times_s.tolist(), trace.tokens.tolist(), trace.left_out
    ([0.0, 2.0], [[8, 4], [10, 2]], 1)

    Raises ``SimulationError`` in one line, for a file without such columns, a bad cell, or no request.
    """
    rows = numbered_rows(data, filename, lists=True)
    _, header = next(rows, (0, [""]))
    names = [name.strip() for name in header]
    bare = [re.sub(r"[^a-z]", "", name.lower()) for name in names]
    columns = [_column(bare, headings, names, filename) for headings in (_INPUT, _OUTPUT)]
    time, unit_s = time_column(names, filename)
    hashes = bare.index("hashids") if "hashids" in bare else -1
    whole, fraction, tokens, chains = [], [], [], []
    left_out = 0
    for line, row in rows:
        lengths = [_tokens(row, column, f"Trace {filename!r}, line {line}") for column in columns]
        if 0 in lengths:
            left_out += 1
            continue
        try:
            seconds, rest = parse_time(row[time], unit_s)
        except (ValueError, IndexError, OverflowError):
            cell = row[time][:40] if time < len(row) else ""
            raise SimulationError(
                f"Trace {filename!r}, line {line}: {cell!r} is neither a number of seconds nor a timestamp; "
                "write for example 0.25."
            ) from None
        whole.append(seconds)
        fraction.append(rest)
        tokens.append(lengths)
        chains.append(row[hashes] if 0 <= hashes < len(row) else "")
    if not whole:
        why = f"; its {left_out:,} rows lack tokens" if left_out else ""
        raise SimulationError(f"Trace {filename!r}: it has no request{why}; give at least one.")
    times = (np.asarray(whole) - min(whole)).astype(np.float64) + np.asarray(fraction)
    order = np.argsort(times, kind="stable")
    times, lengths_ = times[order] - times.min(), np.asarray(tokens, dtype=np.int64)[order]
    if hashes < 0:
        return TokenTrace(times, lengths_, None, left_out)
    prefix = _prefixes([_blocks(chains[i]) for i in order], lengths_[:, 0])
    spread_s, moved = _spread(times)
    return TokenTrace(spread_s, lengths_, prefix, left_out, moved)


def _column(bare: Sequence[str], headings: Sequence[str], names: Sequence[str], filename: str) -> int:
    columns = [i for i, name in enumerate(bare) if name in headings]
    if len(columns) != 1:
        what = headings[0].replace("tokens", "_tokens")
        raise SimulationError(
            f"Trace {filename!r}: it has no single column of {what} (columns: {', '.join(names)[:120]}); "
            f"call it {what}."
        )
    return columns[0]


def _tokens(row: Sequence[str], column: int, where: str) -> int:
    """Return a number of tokens; none counts as 0."""
    cell = row[column].strip() if column < len(row) else ""
    try:
        tokens = float(cell or 0)
    except ValueError:
        tokens = -1.0
    if not (0 <= tokens <= MOST_TOKENS and tokens == int(tokens)):
        raise SimulationError(
            f"{where}: {cell[:40]!r} tokens must be a whole number from 0 to {MOST_TOKENS:,}; correct it."
        )
    return int(tokens)


def _blocks(cell: str) -> list[int]:
    try:
        blocks = json.loads(cell or "[]")
    except ValueError:
        return []
    return [block for block in blocks if isinstance(block, int)] if isinstance(blocks, list) else []


def _prefixes(chains: Sequence[Sequence[int]], inputs: Ints) -> Ints:
    """Give each request the one prefix by which it saves most, if all that share its last block took it.

    A chain of blocks is a tree's path, of which one prefix keeps one node: hits are a bound from below.
    """
    seen = Counter(block for chain in chains for block in set(chain))
    prefix = np.full((len(chains), 2), (-1, 0), dtype=np.int64)
    for i, chain in enumerate(chains):
        saved = [(depth * (1 - 1 / seen[block]), -depth, block) for depth, block in enumerate(chain, 1)]
        most, depth, block = max(saved, default=(0.0, 0, 0))
        if most > 0:
            prefix[i] = block, min(-depth * HASH_TOKENS, int(inputs[i]))
    _, group, takers = np.unique(prefix[:, 0], return_inverse=True, return_counts=True)
    prefix[takers[group] == 1] = -1, 0  # no other request shares it
    shared = prefix[:, 0] >= 0
    prefix[shared, 0] = np.unique(prefix[shared, 0], return_inverse=True)[1]
    return prefix


def _spread(times: Floats) -> tuple[Floats, int]:
    """Spread the arrivals of one instant evenly over the shortest gap between two instants."""
    instants, first, counts = np.unique(times, return_index=True, return_counts=True)
    if len(instants) < 2:
        return times, 0
    nth = np.arange(len(times)) - np.repeat(first, counts)
    spread = times + nth / np.repeat(counts, counts) * np.diff(instants).min()
    return spread, int((nth > 0).sum())
