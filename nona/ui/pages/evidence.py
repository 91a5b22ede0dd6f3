"""The Evidence page: theory against simulation, self-checks, language models, sources."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from nona.report.guide import sections
from nona.results import program
from nona.tables import Column, Table
from nona.ui.pages.run_page import Run, run_area
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain
from nona.ui.widgets.results import table
from nona.units import duration


def _check_result(data: program.SelfCheckResult) -> None:
    rows = data.rows
    failed = [r.name for r in rows if r.ok is False]
    when = f"version {data.version}, in {duration(data.seconds)}"
    if failed:
        text = (
            f"{len(failed)} of {len(rows)} checks fail ({when}): {', '.join(failed)}. Do not trust results "
        )
        text += "of this installation; install it again, and report this table."
        st.error(plain(text), icon=":material/error:")
    else:
        passed = sum(r.ok is True for r in rows)
        st.success(
            plain(f"{passed} of {len(rows)} checks hold, none fails ({when})."), icon=":material/verified:"
        )
    _check_table(rows, "checks")


CHECKS = Table[program.SelfCheck](
    "",
    (
        Column("check", lambda c: c.name),
        Column("verdict", lambda c: "not tried" if c.ok is None else "holds" if c.ok else "FAILS"),
        Column("found", lambda c: c.found),
    ),
)


def _check_table(rows: Sequence[program.SelfCheck], key: str) -> None:
    if rows:
        table(CHECKS.of(rows), key, "Self-checks with their verdicts")


def checks_tab(state: AppState) -> None:
    st.subheader("Self-checks")
    st.markdown(
        "Checks on this machine of what must hold on any: the two engines agree bit for bit, nothing is "
        "lost, the same seed gives the same bytes, a placement respects its bound."
    )
    run_area(
        state,
        Run(
            kind="check",
            label="Check this machine",
            of=program.SelfCheckResult,
            live=lambda job: _check_table(program.SelfCheckProgress.from_json(job.live).rows, "checks-live"),
            answer=lambda state, result: _check_result(result),
            before="Not run yet. It simulates a small scenario with every scheduler on both engines, and "
            "takes a few seconds.",
        ),
    )


def sources_tab(state: AppState) -> None:
    for section in sections():
        if section.name in ("provenance", "sources"):
            st.subheader(section.title)
            st.markdown(section.text)
