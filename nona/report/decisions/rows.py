"""Rows of the study: every cell, every network, the worst cells; for tables and for files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from nona.report.decisions.verdicts import (
    FASTER,
    QUESTIONS,
    compared,
    counts,
    prediction_error,
    promising,
    unsteady,
    verdict,
    worst,
)
from nona.report.text import or_dash, share_text, time_text

Data = Mapping[str, Any]


def where(cell: Data) -> str:
    """Network and conditions of a cell in words.

    >>> where({"network": "gpt2", "link": 25.0, "background": 0.3, "load": 0.5})
    'gpt2, 25 Gbit/s, background 30 %, load 50 %'
    """
    words = [str(cell["network"])]
    if cell["link"] is not None:
        words += [f"{cell['link']:g} Gbit/s", f"background {share_text(cell['background'])}"]
    return ", ".join([*words, f"load {share_text(cell['load'])}"])


def ratio_words(answer: Data | None) -> str:
    """The ratio with its interval.

    >>> ratio_words({"ratio": 1.9034, "low": 1.8884, "high": 1.9185}), ratio_words(None)
    ('1.903 (1.888 to 1.919)', '–')
    """
    if answer is None:
        return "–"
    if answer["low"] is None or answer["high"] is None:
        return f"{answer['ratio']:.3f}"
    return f"{answer['ratio']:.3f} ({answer['low']:.3f} to {answer['high']:.3f})"


def network_rows(data: Data) -> list[dict[str, Any]]:
    """For each network how often each goal is met, the worst ratio, and the cost and gap of its placement."""
    rows = []
    for name, facts in data["networks"].items():
        own = {**data, "cells": [c for c in data["cells"] if c["network"] == name and "placement" in c]}
        row: dict[str, Any] = {"network": name, "family": facts["family"], "interior": facts["interior"]}
        for key, question in QUESTIONS.items():
            cells = compared(own, key)
            ratios = [c[key]["ratio"] for c in cells]
            met = counts(cells, key, question.goal)["met"]
            of = len(cells) + len(unsteady(own, key))
            row[f"{question.name} at most {question.goal}"] = f"{met} of {of}" if of else "–"
            row[f"{question.name}, median"] = f"{median(ratios):.3f}" if ratios else "–"
            row[f"{question.name}, worst"] = f"{max(ratios):.3f}" if ratios else "–"
        gaps = [c["placement"]["gap"] for c in own["cells"] if c["placement"]["gap"] is not None]
        errors = [abs(e) for c in own["cells"] if (e := prediction_error(c)) is not None]
        row["largest gap"] = share_text(max(gaps), 1) if gaps else "–"
        row["largest prediction error"] = share_text(max(errors), 1) if errors else "–"
        row["longest placing time"] = time_text(
            max((c["placement"]["seconds"] for c in own["cells"]), default=None)
        )
        rows.append(row)
    return rows


def worst_rows(data: Data, key: str, most: int = 10) -> list[dict[str, Any]]:
    """The cells with the largest ratios."""
    return [_compared_row(cell, key) for cell in worst(data, key, most)]


def missed_gains(data: Data, most: int = 10) -> list[dict[str, Any]]:
    """The cells in which nona gains little although the bound leaves much, the largest remainder first."""
    cells = [c for c in promising(data) if c["blind"]["ratio"] >= FASTER]
    ordered = sorted(cells, key=lambda c: -c["potential"]["low"])[:most]
    return [_compared_row(cell, "blind") for cell in ordered]


def _compared_row(cell: Data, key: str) -> dict[str, Any]:
    question, answer = QUESTIONS[key], cell[key]
    held, placement = cell["schedulers"], cell["placement"]
    return {
        "cell": where(cell),
        question.name: time_text(held[question.name]["mean_s"]),
        "best other": f"{answer['best']} {time_text(held[answer['best']]['mean_s'])}",
        "ratio": ratio_words(answer),
        "goal": verdict(answer, question.goal),
        "objective": time_text(placement["objective_s"]),
        "gap": or_dash(placement["gap"], lambda gap: share_text(gap, 1)),
        "possible gain": or_dash(cell["potential"], _potential),
    }


def _potential(found: Data) -> str:
    return share_text(max(found["value"], 0.0), 1)


def cell_rows(data: Data) -> list[dict[str, Any]]:
    """Every cell as a table shows it."""
    return [_cell_row(cell) for cell in data["cells"]]


def _cell_row(cell: Data) -> dict[str, Any]:
    row: dict[str, Any] = {
        "network": cell["network"],
        "link": or_dash(cell["link"], lambda link: f"{link:g} Gbit/s"),
        "background": or_dash(cell["background"], share_text),
        "load": share_text(cell["load"]),
    }
    for key, question in QUESTIONS.items():
        answer = cell.get(key)
        row[f"{question.name} / best"] = ratio_words(answer)
        row[f"best rival of {question.name}"] = answer["best"] if answer else "–"
    placement = cell.get("placement", {})
    row["objective"] = time_text(placement.get("objective_s"))
    row["gap"] = or_dash(placement.get("gap"), lambda gap: share_text(gap, 1))
    row["possible gain"] = or_dash(cell.get("potential"), _potential)
    row["placed in"] = time_text(placement.get("seconds"))
    for name, held in cell.get("schedulers", {}).items():
        row[name] = time_text(held.get("mean_s"))
    row["note"] = cell.get("error", "")
    return row


def file_rows(data: Data) -> list[dict[str, Any]]:
    """One flat row for each cell and scheduler, SI units: for CSV and Parquet files."""
    return [
        {key: cell[key] for key in ("network", "link", "background", "load")}
        | {"scheduler": name, "reason": held.get("reason", "")}
        | {key: held.get(key) for key in ("mean_s", "half_width_s", "runs")}
        | {key: cell["placement"][key] for key in ("objective_s", "lower_bound_s", "gap")}
        | _flat(cell)
        for cell in data["cells"]
        for name, held in cell.get("schedulers", {}).items()
    ]


def _flat(cell: Data) -> dict[str, Any]:
    return {
        f"{key}_{part}": None if cell[key] is None else cell[key][part]
        for key in QUESTIONS
        for part in ("best", "ratio", "low", "high")
    }


def heat(data: Data, key: str) -> tuple[Sequence[float], Sequence[float], list[list[list[float]]]]:
    """(links, backgrounds, ratios of the cells at each background and link)."""
    cells = [c for c in compared(data, key) if c["link"] is not None]
    links = sorted({c["link"] for c in cells})
    backgrounds = sorted({c["background"] for c in cells})
    ratios = [
        [[c[key]["ratio"] for c in cells if (c["background"], c["link"]) == (b, link)] for link in links]
        for b in backgrounds
    ]
    return links, backgrounds, ratios
