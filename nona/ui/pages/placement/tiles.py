"""The head of the Placement page: prediction, certificate, comparison, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from nona.report.placements.certificate_text import (
    bound_text,
    certificate_words,
    formula_line,
    gap_text,
    is_sampled,
    mean_of,
    measure_text,
    origin_text,
)
from nona.report.placements.compared import Other, against, hits_text, is_slo, value_of
from nona.report.placements.sampled import gain_finding, slo_bound_words
from nona.report.placements.text import plain_notes
from nona.report.text import percent_text, time_text
from nona.report.times_off import off_text
from nona.results.placement.outcome import PlacementOutcome
from nona.results.placement.report import PlacementReport
from nona.ui.pages.placement.shares import LEAST, model_split
from nona.ui.widgets.fields import plain
from nona.ui.widgets.guide_link import guide_link
from nona.ui.widgets.terms import term


def result_tiles(data: PlacementOutcome) -> None:
    """One large number with what it means, and the smaller figures beside it, each with a line."""
    with st.container(border=True, key="placement-head"):
        left, right = st.columns([1, 2], vertical_alignment="center")
        with left:
            _hits(data) if is_slo(data.nona) else _mean(data)
        with right:
            st.markdown(plain(verdict(data)))
    with st.grid(4, min_column_width=170):
        for fact in _facts(data):
            _small(fact)


def _mean(data: PlacementOutcome) -> None:
    report = data.nona
    st.metric(
        "Predicted mean JCT",
        time_text(mean_of(report)),
        help=f"The {term('response')}: mean over the whole mix, waits included; predicted, not simulated. "
        "± is one standard error.",
    )
    off = data.if_times_off
    st.caption(plain(f"{measure_text(report)}{f'; {off_text(off)}' if off else ''}"))


def _hits(data: PlacementOutcome) -> None:
    text, _, by = hits_text(data.nona).partition(" ±")
    st.metric(
        "Predicted SLO hits",
        text.removesuffix(", by sampled jobs"),
        help="Share of the jobs that end within their SLO, over the mix; predicted, not simulated. ± is one "
        "standard error.",
    )
    st.caption(plain(f"±{by}" if by else "by sampled jobs"))


@dataclass(frozen=True, slots=True)
class Fact:
    """A smaller figure: its name, its value, a line on it, and what it is."""

    label: str
    value: str
    line: str
    hint: str


def _facts(data: PlacementOutcome) -> list[Fact]:
    p = data.nona.predicted
    return [
        _bound(data.nona),
        Fact(
            "Against local",
            _short(data, "local"),
            _others(data),
            "Local keeps every query on one server, spread splits all that can be split; all by sampled "
            "jobs.",
        ),
        Fact(
            "Executors busy",
            percent_text(p.compute_utilization),
            f"by formula a visit waits {time_text(p.server_wait_s)}",
            "Background included. Any placement has the same load.",
        ),
        Fact(
            "Link busy",
            percent_text(p.network_utilization),
            f"by formula a message waits {time_text(p.network_wait_s)}",
            "Background included.",
        ),
    ]


def _bound(report: PlacementReport) -> Fact:
    if is_slo(report):
        return Fact(
            "Mean JCT",
            time_text(mean_of(report)),
            measure_text(report),
            f"The {term('response')}: mean over the whole mix, waits included; predicted, not simulated. ± "
            "is one standard error.",
        )
    if not is_sampled(report):
        return Fact(
            "Mean JCT by formula",
            time_text(report.objective_s),
            f"certified gap: {gap_text(report)}",
            "What was minimised: the paper's formula with mean waits. Its optimum is proved to this gap.",
        )
    return Fact(
        "Gap to the certified bound",
        gap_text(report),
        bound_text(report),
        "(predicted mean − bound) / predicted mean. The bound is certified for the formula, at its optimum's "
        "server wait.",
    )


def _small(fact: Fact) -> None:
    with st.container(border=True, gap="xxsmall", height="stretch"):
        st.caption(fact.label, help=fact.hint)
        st.markdown(f"**{plain(fact.value)}**")
        st.caption(plain(fact.line))


def _short(data: PlacementOutcome, name: Other) -> str:
    """``25 % below`` or in words; the label names the other."""
    text = against(data, name)
    for ending in (f" than {name}", f" {name}"):
        text = text.removesuffix(ending)
    text = text.removeprefix(f"{name} ")
    return {"as fast as": "as fast", "overloads executors": "no steady state"}.get(text, text)


def _others(data: PlacementOutcome) -> str:
    local = value_of(data, data.local)
    if local is None:
        told = "local overloads executors"
    else:
        told = f"local {percent_text(local) if is_slo(data.nona) else time_text(local)}"
    return f"{told}; {against(data, 'spread')}"


def verdict(data: PlacementOutcome) -> str:
    """Which models are split, how often, and where the placement comes from."""
    told = (split_text(data.nona), origin_text(data.nona), gain_finding(data.nona))
    return " ".join(t for t in told if t)


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
    with st.expander("How far the certificate goes", icon=":material/verified:"):
        proved = slo_bound_words(report) if is_slo(report) else certificate_words(report)
        for line in (formula_line(report), proved):
            if line:
                st.markdown(plain(line))
        for note in plain_notes(report.notes):
            st.markdown(f"- {plain(note)}")
        guide_link("certificate", "What a certificate is")
