"""Models in tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from nona.contraction.contracted import ContractedGraph
from nona.cost.costed import CostedGraph
from nona.placement.enumeration.idle_spans import IdleSpan
from nona.report.inputs.given_times import origin_text
from nona.ui.loaded.loading import Loaded
from nona.ui.widgets.drawing.drawing import Node, colour, el
from nona.units import format_time


def operator_table(costed: CostedGraph) -> pd.DataFrame:
    """One row per operator: its work, its time in milliseconds, and the source of the time."""
    return pd.DataFrame(
        {
            "operator": [c.id for c in costed.costs],
            "kind": [c.kind for c in costed.costs],
            "MFLOP": [c.flops / 1e6 for c in costed.costs],
            "activations kB": [(c.read_bytes + c.write_bytes) / 1e3 for c in costed.costs],
            "weights kB": [c.weight_bytes / 1e3 for c in costed.costs],
            "time µs": [c.compute_s * 1e6 for c in costed.costs],
            "provenance": [origin_text(c, costed.device) for c in costed.costs],
        }
    )


def subgraph_table(
    loaded: Loaded, counts: Sequence[int] | None, idle: Sequence[IdleSpan] | None = None
) -> pd.DataFrame:
    """One row per sub-graph with an interior: what is left to distribute, and what that could save.

    ``counts`` are the configurations of all sub-graphs; ``idle`` the spans of those with an interior.
    """
    contracted, ids = loaded.prepared.contracted, [t.id for t in loaded.prepared.contracted.tasks]
    times = contracted.sum_over_tasks(loaded.prepared.costed[0].compute_s)
    spans = {s.subgraph: s for s in idle or ()}
    rows: list[dict[str, object]] = []
    for i, s in enumerate(loaded.prepared.decomposition.subgraphs):
        if not s.interior:
            continue
        row: dict[str, object] = {
            "sub-graph": len(rows) + 1,
            "root": ids[s.root] if s.root >= 0 else "(start)",
            "sink": ids[s.sink] if s.sink >= 0 else "(end)",
            "interior tasks": len(s.interior),
            "on one server µs": 1e6 * sum(times[t] for t in s.interior),
        }
        if s in spans:
            span = spans[s]
            row["saved at most µs"] = 1e6 * (span.local_s - span.critical_s)
            row["saved over the link µs"] = 1e6 * (span.local_s - span.best_s)
            row["longest chain µs"] = 1e6 * span.critical_s
            row["best split µs"] = 1e6 * span.best_s
            row["border kB"] = spans[s].border_bytes / 1e3
        if counts is not None:
            row["configurations"] = counts[i]
        rows.append(row)
    return pd.DataFrame(rows)


def contraction_headline(loaded: Loaded, idle: Sequence[IdleSpan], link: str) -> tuple[str, str]:
    """Two sentences: what contraction left and the most that splitting saves; what remains of that here.

    The most is T₁ − T∞ as a share of T₁, with transfers and waits that cost nothing; ``link`` names the
    cluster's link, over which the second sentence counts the transfers, without other traffic.
    """
    contracted, costed = loaded.prepared.contracted, loaded.prepared.costed[0]
    operators, tasks = len(contracted.graph.operators), len(contracted.tasks)
    became = f"{_count(operators, 'operator')} become {_count(tasks, 'task')}"
    if not idle:
        order = ", one after the other" if tasks > 1 else ""
        return f"{became}{order}: nothing in it can run in parallel.", ""
    total = costed.total_compute_s
    most = 100 * (1 - costed.critical_path_s / total) if total > 0 else 0.0
    here = sum(s.local_s - s.best_s for s in idle)
    places = "place is" if len(idle) == 1 else "places are"
    first = (
        f"{became}; {len(idle):,} {places} left where work could run in parallel; splitting can save at "
        f"most {_percent(most)} of the computing time on {costed.device}."
    )
    if total <= 0 or here <= 1e-9 * total:
        second = f"Over {link}, even without other traffic, splitting saves nothing: transfers take longer."
    else:
        second = (
            f"Over {link}, without other traffic, splitting saves {_percent(100 * here / total)} of that "
            f"time ({format_time(here)} of {format_time(total)})."
        )
    return first, second


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _percent(value: float) -> str:
    """A share in per cent, with the digits that it needs.

    >>> _percent(2.84), _percent(36.36), _percent(0.021)
    ('2.8 %', '36.4 %', '0.02 %')
    """
    return f"{value:.1f} %" if value >= 0.1 else f"{value:.1g} %"


def step_table(contracted: ContractedGraph) -> pd.DataFrame:
    """One row per contraction step."""
    return pd.DataFrame(
        {
            "step": range(1, len(contracted.steps) + 1),
            "task": [s.source for s in contracted.steps],
            "absorbs": [s.target for s in contracted.steps],
            "rule": [s.rule for s in contracted.steps],
            "why it is allowed": [s.reason for s in contracted.steps],
        }
    )


def parallelism_picture(total_s: float, critical_s: float) -> Node:
    """T₁ over T∞ as two bars: all operators one after the other, and the longest chain of them."""
    widest = max(total_s, critical_s) or 1.0
    return el(
        "div",
        "spans",
        _span("one after the other (T₁)", total_s, total_s / widest, 0),
        _span("longest chain (T∞)", critical_s, critical_s / widest, 1),
    )


def _span(what: str, seconds: float, share: float, number: int) -> Node:
    return el(
        "div",
        "span",
        el("span", "", what),
        el("div", "meter", el("i", ""), __w=f"{100 * share:.2f}%", __mc=colour(number)),
        el("b", "", format_time(seconds)),
        role="img",
        aria_label=f"{what}: {format_time(seconds)}",
    )


def gain_statement(parallelism: float) -> str:
    """The plain statement of what splitting can gain at most.

    >>> gain_statement(1.0)
    'Nothing in it can run in parallel: splitting one query over servers cannot make it faster.'
    """
    if parallelism < 1.0005:
        return "Nothing in it can run in parallel: splitting one query over servers cannot make it faster."
    return (
        f"Splitting one query over servers can shorten its computing by at most "
        f"{100 * (1 - 1 / parallelism):.1f} %, if transfers and waits cost nothing."
    )


def time_by_kind(costed: CostedGraph) -> dict[str, float]:
    """Seconds of all operators of each kind."""
    times: dict[str, float] = {}
    for c in costed.costs:
        times[c.kind] = times.get(c.kind, 0.0) + c.compute_s
    return times
