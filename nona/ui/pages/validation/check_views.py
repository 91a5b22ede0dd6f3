"""Self-checks on the Validation page: one button, a row for each check."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from nona.results.checks import SelfCheck, SelfCheckProgress, SelfCheckResult
from nona.ui.session.state import AppState
from nona.ui.shell.job_panel import current_job, job_panel
from nona.ui.shell.progress import duration
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table

KIND = "check"
_WORDS = {True: "holds", False: "FAILS", None: "not tried"}


def check_section(state: AppState) -> None:
    """The button, the progress, the table."""
    job_panel(
        state,
        KIND,
        "Check this machine",
        live=lambda live: _table(SelfCheckProgress.from_json(live).rows, "checks-live"),
        fingerprint="self-checks",
    )
    result, job = state.held(KIND, SelfCheckResult), current_job(state, KIND)
    if result is not None:
        _result(result)
    elif job is None or not job.unfinished:
        st.caption(
            "Not run yet. It simulates a small scenario with every scheduler on both engines, and takes a "
            "few seconds."
        )


def _result(data: SelfCheckResult) -> None:
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
        held = sum(r.ok is True for r in rows)
        st.success(
            plain(f"{held} of {len(rows)} checks hold, none fails ({when})."), icon=":material/verified:"
        )
    _table(rows, "checks")


def _table(rows: Sequence[SelfCheck], key: str) -> None:
    if rows:
        shown = [{"check": r.name, "verdict": _WORDS[r.ok], "found": r.found} for r in rows]
        table(pd.DataFrame(shown), key, "Self-checks with their verdicts")
