"""The head of the Placement page: prediction, certificate, comparison, and the verdict."""

from __future__ import annotations

import streamlit as st

from nona.report.placements.certificate_text import (
    bound_text,
    certificate_words,
    formula_line,
    gap_text,
    is_sampled,
    measure_text,
    origin_text,
)
from nona.report.placements.sampled import value_text
from nona.report.placements.text import Other, against, objective_of, plain_notes
from nona.report.text import percent_text, time_text
from nona.results.placement.outcome import PlacementOutcome
from nona.results.placement.report import PlacementReport
from nona.results.placement.search import SampledSearch
from nona.ui.pages.placement.shares import LEAST, model_split
from nona.ui.widgets.fields import plain
from nona.ui.widgets.guide_link import guide_link
from nona.ui.widgets.terms import term
from nona.units import format_time


def result_tiles(data: PlacementOutcome) -> None:
    """Three tiles with one line each, and how busy everything is below them."""
    found = data.nona.sampled
    if data.nona.objective == "slo" and found is not None:
        _missed_tiles(found)
    else:
        _mean_tiles(data)
    _busy(data)


def _missed_tiles(found: SampledSearch) -> None:
    value, error, formula = (value_text("slo", v) for v in (found.value, found.error, found.formula_value))
    with st.grid(3, min_column_width=260):
        _tile(
            "Predicted missed SLOs",
            value,
            f"± {error}, by sampled jobs",
            "Share of the jobs that end after their SLO, over the mix; predicted, not simulated. ± is one "
            "standard error.",
        )
        _tile(
            "Certified bound",
            value_text("slo", found.bound),
            "no placement misses a smaller share",
            "The share of jobs whose longest chain of tasks alone takes longer than the SLO.",
        )
        fewer = 100 * (found.gain or 0.0)
        _tile(
            "Against the formula's optimum",
            f"{fewer:.2g} points fewer" if fewer else "the same",
            f"the formula's optimum misses {formula}",
            "The optimum has the least mean JCT by formula; both shares are by the same sampled jobs.",
        )


def _mean_tiles(data: PlacementOutcome) -> None:
    report = data.nona
    with st.grid(3, min_column_width=260):
        _tile(
            "Predicted mean JCT",
            time_text(report.objective_s),
            measure_text(report),
            f"The {term('response')}: mean over the whole mix, waits included; predicted, not simulated. "
            "± is one standard error.",
        )
        _tile(
            "Gap to the certified bound",
            gap_text(report),
            bound_text(report),
            "(predicted mean − bound) / predicted mean. The bound is certified for the formula, at its "
            "optimum's server wait.",
        )
        by = "sampled jobs" if is_sampled(report) else "formula"
        hint = f"Local keeps every query on one server, spread splits all that can be split; all by {by}."
        _tile("Against local", _short(data, "local"), _others(data), hint)


def _tile(label: str, value: str, line: str, hint: str) -> None:
    with st.container(border=True, gap="xsmall", height="stretch"):
        st.metric(label, value, help=hint)
        st.caption(plain(line))


def _short(data: PlacementOutcome, name: Other) -> str:
    """``25 % below`` or in words; the tile's label names the other."""
    text = against(data, name).removeprefix(f"{name} ").removesuffix(f" {name}")
    return {"as fast as": "as fast", "overloads executors": "no steady state"}.get(text, text)


def _others(data: PlacementOutcome) -> str:
    local, spread = objective_of(data.local), objective_of(data.spread)
    told = "local overloads executors" if local is None else f"local {time_text(local)}"
    return f"{told}, {against(data, 'spread') if spread is None else f'spread {time_text(spread)}'}"


def _busy(data: PlacementOutcome) -> None:
    report, early_s = data.nona, data.ended_early_s
    p = report.predicted
    with st.grid(3, min_column_width=125):
        st.metric(
            "Link busy",
            percent_text(p.network_utilization),
            help=f"Background included; by formula a message waits {time_text(p.network_wait_s)} on average.",
        )
        st.metric(
            "Executors busy",
            percent_text(p.compute_utilization),
            help=f"Background included; by formula a visit waits {time_text(p.server_wait_s)} on average. "
            "Any placement has the same load.",
        )
        label, seconds = ("Solved in", report.seconds) if early_s is None else ("Cancelled after", early_s)
        st.metric(label, format_time(seconds), help=f"Solver: {report.solver}.")


def verdict(data: PlacementOutcome) -> str:
    """Which models are split, how often, and where the placement comes from."""
    return f"{split_text(data.nona)} {origin_text(data.nona)}".strip()


def split_text(report: PlacementReport) -> str:
    """Which models are split: a share is the mean over the model's sub-graphs that can be split."""
    shares = {name: model_split(model) for name, model in report.models.items()}
    split = [
        f"{name} always" if share > 1 - LEAST else f"{name} at {100 * share:.0f} % of its forks"
        for name, share in shares.items()
        if share >= LEAST
    ]
    if not split:
        return "Every query stays on one server."
    others = "" if len(split) == len(shares) else "; the others stay on one server"
    return f"Split: {', '.join(split)}{others}."


def certificate_notes(report: PlacementReport) -> None:
    """The formula's own figures, and how far the certificate goes, in plain words behind a line to open."""
    line = formula_line(report)
    if line:
        st.caption(plain(line))
    with st.expander("How far the certificate goes", icon=":material/verified:"):
        st.markdown(plain(certificate_words(report)))
        for note in plain_notes(report.notes):
            st.markdown(f"- {plain(note)}")
        guide_link("certificate", "What a certificate is")
