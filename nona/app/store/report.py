"""Saved items in words: what each is about, lists, rows of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import plotly.graph_objects as go

from nona.app.store.saved_results import SavedAnswer, SavedComparison, SavedItem, SavedList, Unit
from nona.core.document import UNKNOWN, Estimate
from nona.core.figures import PALETTE, add_points, capped, figure, log_axis, spread_wide, text
from nona.core.registry import ChartStyle
from nona.core.tables import Column, FilledTable, Show, Table, mean_text, share_text
from nona.core.text import count_text, cut_inside, join_words
from nona.core.units import format_number, format_time, time_format
from nona.queries.report.comparison import points
from nona.scenario.language import LanguageRow
from nona.scenario.schema import Scenario
from nona.training.report.findings import jobs_text


def scenario_line(scenario: Scenario) -> str:
    """Servers and workload, as a list of scenarios tells them apart.

    >>> from nona.scenario.file import parse_scenario
    >>> text = "{cluster: {servers: [{count: 2, gpu: l4}]}, workload: [{model: gpt2, rate: 5/s}]}"
    >>> scenario_line(parse_scenario(text))
    '2 servers, l4; gpt2, 5/s'
    """
    return f"{cluster_text(scenario)}; {workload_text(scenario)}"


def cluster_text(scenario: Scenario) -> str:
    """Count the servers and name their GPUs; of several groups the first, and the number of others."""
    first, *others = scenario.cluster.servers
    servers = count_text(sum(group.count for group in scenario.cluster.servers), "server")
    each = f"{first.gpus} × " if first.gpus > 1 else ""
    kinds = f" and {count_text(len(others), 'other kind')}" if others else ""
    return f"{servers}, {each}{first.gpu}{kinds}"


def workload_text(scenario: Scenario) -> str:
    """Return the models and the rate of all queries together, which a load chosen for serverless calls sets.

    Of a scenario without queries its training jobs.

    >>> from nona.scenario.file import parse_scenario
    >>> text = "{version: 1, cluster: {servers: [{count: 2}]}, training: {generate: {jobs: 9}}}"
    >>> workload_text(parse_scenario(text))
    '9 training jobs'
    >>> chosen = "serverless: {interval: {least: 20 ms, most: 30 ms}}"
    >>> text = f"{{cluster: {{servers: [{{count: 2}}]}}, workload: [{{model: gpt2, rate: 5/s}}], {chosen}}}"
    >>> workload_text(parse_scenario(text))
    'gpt2, 40/s'
    >>> row = "llm: {model: gpt2, tokens: {input: 9, output: 9}}"
    >>> text = f"{{cluster: {{servers: [{{engine: {{}}}}]}}, workload: [{{{row}, rate: 3/s}}]}}"
    >>> workload_text(parse_scenario(text))
    'gpt2 token by token, 3/s'
    """
    if scenario.language:
        queries = scenario.model_copy(update={"language": ()})
        return join_words(
            [workload_text(queries)] * bool(scenario.workload) + [_requests_text(scenario.language)]
        )
    if not scenario.workload:
        return "no queries" if scenario.training is None else jobs_text(scenario.training)
    names, calls = scenario.labels, scenario.serverless
    load = None if calls is None else calls.interval
    rate = sum(row.rate for row in scenario.workload) if load is None else load.rate
    users = 0 if load is not None else sum(row.concurrency or 0 for row in scenario.workload)
    parts = [f"{format_number(rate, 4)}/s"] * bool(rate or not users) + [f"{users:,} users"] * bool(users)
    return ", ".join([names[0] if len(names) == 1 else f"{len(names)} models", *parts])


def _requests_text(rows: Sequence[LanguageRow]) -> str:
    names = list(dict.fromkeys(row.llm.model for row in rows))
    who = f"{names[0] if len(names) == 1 else f'{len(names)} models'} token by token"
    rate, users = sum(row.rate or 0.0 for row in rows), sum(row.concurrency or 0 for row in rows)
    loads = [f"{format_number(rate, 4)}/s"] * (rate > 0) + [f"{users:,} at a time"] * (users > 0)
    return ", ".join([who, *loads])


LONGEST = 60  # characters of a name or note in a table
SHOWN: Mapping[Unit, Show] = {
    "s": format_time,
    "share": partial(share_text, digits=1),
    "number": format_number,
}
CHANGES: Mapping[Unit, Show] = {**SHOWN, "share": points}


def date_text(item: SavedItem) -> str:
    """Format the time at which an item was saved, to the minute.

    >>> from nona.app.store.saved_results import SavedFacts
    >>> facts = dict.fromkeys(("fingerprint", "version", "made", "scenario", "finding"), "")
    >>> item = SavedItem(id="1", kind="k", name="n", note="", saved_at="2026-03-01T09:30:00.5+00:00",
    ...     imported=False, mine=True, size_bytes=1, facts=SavedFacts(**facts, schedulers=(), models=()))
    >>> date_text(item)
    '2026-03-01 09:30 UTC'
    """
    return f"{item.saved_at[:16].replace('T', ' ')} UTC"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


ITEMS = Table[SavedItem](
    "",
    (
        Column("item", lambda i: i.id[:8]),
        Column("saved", date_text),
        Column("kind", lambda i: i.kind),
        Column("name", lambda i: _short(i.name)),
        Column("scenario", lambda i: _short(i.facts.scenario)),
        Column("servers and rate", lambda i: _short(i.facts.about)),
        Column("schedulers", lambda i: _short(", ".join(i.facts.schedulers))),
    ),
)


def list_text(saved: SavedList) -> str:
    """One line per item."""
    lines = [ITEMS.fill(saved.items).text()] if saved.items else ["Nothing is saved here."]
    if saved.unreadable:
        lines.append(
            f"{count_text(saved.unreadable, 'entry' if saved.unreadable == 1 else 'entrie')} damaged."
        )
    return "\n".join(lines)


def item_text(item: SavedItem) -> str:
    """All that is said of an item, a line each."""
    facts = item.facts
    lines = {
        "item": item.id,
        "name": item.name,
        "note": item.note.replace("\n", "\n             "),
        "kind": item.kind + (", imported" if item.imported else ""),
        "saved": date_text(item),
        "made": f"{facts.made}, version {facts.version}",
        "scenario": f"{facts.scenario}, version {facts.fingerprint}",
        "about": facts.about,
        "models": ", ".join(facts.models),
        "schedulers": ", ".join(facts.schedulers),
        "finding": facts.finding,
    }
    return "\n".join(f"{word:<12} {text}" for word, text in lines.items() if text)


def comparison_text(comparison: SavedComparison) -> str:
    """Format the items, the differences of their scenarios, and a table of the answers."""
    lines = []
    for number, (item, changes, note) in enumerate(
        zip(comparison.items, comparison.scenario, comparison.notes, strict=True), start=1
    ):
        lines.append(f"{number}  {item.name} ({item.id[:8]}, {date_text(item)})")
        if number > 1:
            lines += [f"   {changes_text(changes)}", f"   {note}"]
    lines += ["", answers(comparison).text()] if comparison.answers else []
    lines += ["* the 95 % interval of the change excludes 0; each interval holds separately."]
    return "\n".join(lines)


def changes_text(changes: tuple[str, ...]) -> str:
    """List the differences of a scenario from the first one, in one line."""
    return f"Scenario: {', '.join(changes)}" if changes else "Scenario: the same as that of 1"


def answers(comparison: SavedComparison) -> FilledTable:
    """Each measure of each subject: its value in every item, and the changes from the first.

    The times of a measure are in one unit, and so are their changes.
    """
    shown = {
        a.measure: _shown(a, comparison.answers, SHOWN, lambda one: one.values) for a in comparison.answers
    }
    moved = {
        a.measure: _shown(a, comparison.answers, CHANGES, lambda one: one.changes) for a in comparison.answers
    }

    def value(number: int) -> Column[SavedAnswer]:
        return Column(str(number), lambda a: mean_text(a.values[number - 1], shown[a.measure]))

    def change(number: int) -> Column[SavedAnswer]:
        def text(answer: SavedAnswer) -> str:
            signed = _signed(answer.changes[number - 1], moved[answer.measure])
            return signed + (" *" if answer.clear[number - 1] else "")

        return Column(f"{number} − 1", text)

    subject = "scheduler" if comparison.items[0].kind == "simulation" else "of"
    numbers = range(1, len(comparison.items) + 1)
    columns: tuple[Column[SavedAnswer], ...] = (
        Column("measure", lambda a: a.measure),
        Column(subject, lambda a: a.subject),
        *map(value, numbers),
        *map(change, numbers[1:]),
    )
    return Table("", columns).fill(comparison.answers)


def _shown(
    answer: SavedAnswer,
    answers: Sequence[SavedAnswer],
    by_unit: Mapping[Unit, Show],
    of: Callable[[SavedAnswer], Sequence[Estimate]],
) -> Show:
    """Return what shows the values of an answer's measure."""
    if answer.unit != "s":
        return by_unit[answer.unit]
    same = [a for a in answers if a.measure == answer.measure]
    return time_format(value.mean for a in same for value in of(a) if value.mean is not None)


def _signed(value: Estimate, show: Show) -> str:
    plus = value != UNKNOWN and value.mean is not None and value.mean > 0
    return ("+" if plus else "") + mean_text(value, show)


SYMBOLS = ("circle", "diamond", "square", "triangle-up")
_SCALES: dict[Unit, float] = {"s": 1e3, "share": 100.0, "number": 1.0}
_AXES: dict[Unit, str] = {"s": "ms", "share": "%", "number": ""}
_ROW, _APART = 56, 0.19


def answers_figure(comparison: SavedComparison) -> go.Figure:
    """Return the answers of one measure; items are distinguished by marker and number, not by colour alone.

    A value that is not there, as the mean of an overloaded run, has no marker; the table shows a dash.
    """
    answers = comparison.answers
    unit = answers[0].unit
    scale = _SCALES[unit]
    values = [v.mean * scale for a in answers for v in a.values if v.mean is not None]
    log = unit == "s" and spread_wide(values)
    ends = [end for a in answers for v in a.values for end in _span(v, unit, log) or ()]
    chart = figure(110 + _ROW * len(answers), legend=True)
    for number, item in enumerate(comparison.items):
        _add(chart, f"{number + 1} · {text(cut_inside(item.name, 30))}", number, answers, log)
    names = [text(a.subject, 24) for a in answers]
    chart.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=names,
        range=[len(names) - 0.5, -0.5],
        showgrid=False,
        zeroline=False,
    )
    title = ", ".join(word for word in (answers[0].measure, _AXES[unit]) if word)
    if log:
        log_axis(chart, [*values, *ends], title)
    else:
        chart.update_xaxes(title=title, nticks=6, rangemode="tozero")
        if unit == "share":
            low = min([*values, *ends], default=0.0)
            chart.update_xaxes(range=capped(0.0 if low < 50.0 else low, 100.0))
    return chart


def _add(chart: go.Figure, name: str, number: int, answers: tuple[SavedAnswer, ...], log: bool) -> None:
    colour, shown = PALETTE[number], SHOWN[answers[0].unit]
    middle = (len(answers[0].values) - 1) / 2
    for row, answer in enumerate(answers):
        value = answer.values[number]
        add_points(
            chart,
            name,
            [None if value.mean is None else value.mean * _SCALES[answer.unit]],
            [row + (number - middle) * _APART],
            ChartStyle(colour, "solid", SYMBOLS[number]),
            f"{name}<br>{text(answer.subject, 24)}: {mean_text(value, shown)}",
            legendgroup=name,
            showlegend=row == 0,
            across=[_span(value, answer.unit, log)],
        )


def _span(value: Estimate, unit: Unit, log: bool) -> list[float] | None:
    if value.mean is None or value.ci95 is None:
        return None
    scale, (low, high) = _SCALES[unit], value.ci95
    ends = max(low, value.mean * 1e-3 if log else 0.0), min(high, 1.0) if unit == "share" else high
    return [end * scale for end in ends]
