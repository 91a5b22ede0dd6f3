"""A search of ESG for its drawing: steps as text, cuts of each blade, the answer."""

from __future__ import annotations

from functools import partial
from math import isfinite
from typing import NamedTuple

from nona.core.tables import COUNT, PLAIN, PRECISE, Column, FilledTable, Table
from nona.serverless.functions import ConfigurationSpace
from nona.serverless.policies.esg.explain import Explanation, ExtensionRow, HeapStep

PER = 1000


def short(space: ConfigurationSpace, number: int) -> str:
    """Return a configuration in short: jobs·vCPUs·vGPUs.

    >>> from nona.serverless.functions import grid
    >>> short(grid([1, 2], [1], [1, 7]), 3)
    '2·1·7'
    """
    c = space[number]
    return f"{c.batch}·{c.vcpus}·{c.vgpus}"


def search_data(explanation: Explanation, space: ConfigurationSpace) -> dict[str, object]:
    """Return steps, labels and answer of a search, for the drawing.

    ``labels``: number of a configuration → short and full text; ``all`` steps, of which ``steps`` are kept.
    """
    t = explanation.trace
    rows = [t.start, *(r for s in t.steps for r in (s.deeper, s.beside))]
    paths = [*(s.path for s in t.steps), *t.paths, [r.opened for r in rows if r and r.opened >= 0]]
    return {
        "functions": explanation.functions,
        "labels": {str(n): (short(space, n), space[n].text) for n in sorted({n for p in paths for n in p})},
        "limit_ms": 1e3 * explanation.limit_s,
        "start": _row(t.start),
        "steps": [_step(s, k, t.step_count, space) for k, s in enumerate(t.steps, start=1)],
        "all": t.step_count,
        "best": [
            {"path": path, "cost": PER * cost, "ms": 1e3 * time}
            for path, cost, time in zip(t.paths, t.cost_usd, t.time_s, strict=True)
        ],
    }


def _row(row: ExtensionRow | None) -> dict[str, int] | None:
    return row and {"opened": row.opened, "time": row.time_cuts, "cost": row.cost_cuts}


def _step(step: HeapStep, k: int, of: int, space: ConfigurationSpace) -> dict[str, object]:
    return {
        "path": step.path,
        "ms": 1e3 * step.t_low_s,
        "cost": PER * step.rsc_low_usd,
        "best": step.best,
        "deeper": _row(step.deeper),
        "beside": _row(step.beside),
        "bound": PER * step.bound_usd if isfinite(step.bound_usd) else None,
        "lines": _step_lines(step, k, of, space),
    }


def _step_lines(step: HeapStep, k: int, of: int, space: ConfigurationSpace) -> list[str]:
    path = " → ".join(short(space, n) for n in step.path)
    least = (
        f"Step {k:,} of {of:,}: {path} has the least cost among the open paths. Every completion takes "
        f"at least {1e3 * step.t_low_s:.1f} ms and costs at least ${PER * step.rsc_low_usd:.4f} "
        f"per {PER:,} calls."
    )
    lines = [least]
    if step.best:
        lines.append(f"It is complete and ranks {step.best} among the best paths.")
    if step.deeper is not None:
        lines.append("The next function: " + _row_text(step.deeper, space))
    lines.append("The same function, the next more expensive configuration: " + _row_text(step.beside, space))
    if isfinite(step.bound_usd):
        moved = "falls to" if step.bound_fell else "stays at"
        lines.append(f"The cost blade {moved} ${PER * step.bound_usd:.4f} per {PER:,} calls.")
    return lines


def _row_text(row: ExtensionRow, space: ConfigurationSpace) -> str:
    """Return the outcome of the extensions that were examined.

    >>> from nona.serverless.functions import grid
    >>> _row_text(ExtensionRow(2, 1, (0,), 1, 0), grid([1], [1, 2], [1]))
    'the time blade cuts 1·1·1; 1·2·1 is opened.'
    """
    parts = []
    if row.time_cuts:
        named = ", ".join(short(space, n) for n in row.time_cut)
        more = row.time_cuts - len(row.time_cut)
        parts.append(f"the time blade cuts {named}{f' and {more:,} more' if more else ''}")
    if row.cost_cuts:
        parts.append(f"the cost blade cuts the remaining {row.cost_cuts:,}, all more expensive")
    parts.append("nothing is opened" if row.opened < 0 else f"{short(space, row.opened)} is opened")
    return "; ".join(parts) + "."


class _Best(NamedTuple):
    rank: int
    path: tuple[int, ...]
    cost_usd: float
    time_s: float


def best_paths(explanation: Explanation, space: ConfigurationSpace) -> FilledTable:
    """Return the best paths, each with the configuration of every function, its time and its cost."""
    trace = explanation.trace
    columns: list[Column[_Best]] = [Column("rank", lambda b: b.rank, COUNT)]
    for place, name in enumerate(explanation.functions):
        columns.append(Column(name, partial(_text_at, space, place)))
    columns.append(Column("time", lambda b: b.time_s, PRECISE))
    columns.append(Column(f"$ per {PER:,} calls", lambda b: PER * b.cost_usd, PLAIN))
    paths = zip(trace.paths, trace.cost_usd, trace.time_s, strict=True)
    return Table("", tuple(columns)).fill(_Best(rank, *path) for rank, path in enumerate(paths, start=1))


def _text_at(space: ConfigurationSpace, place: int, best: _Best) -> str:
    return space[best.path[place]].text
