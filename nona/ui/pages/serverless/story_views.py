"""How the first batches of a run got their invokers: which were asked, which refused, and why."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.serverless.stories import story_line
from nona.results.serverless.dispatch import ServerlessOutcome
from nona.ui.pages.serverless.layout_views import choose_one
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table


def stories(data: ServerlessOutcome | None) -> None:
    """Choose one of the kept batches of the last run; what was tried before it found room."""
    st.subheader("Where the batches went", anchor=False)
    told = {name: rows for name, rows in data.stories.items() if rows} if data is not None else {}
    if not told:
        st.caption("Run the policies to see which invokers refused the first batches of each, and why.")
        return
    left, right = st.columns([1, 3])
    with left:
        policy = choose_one("Run of", list(told), "story-policy", "The policy to show.")
    rows = told[policy]
    texts = {f"{k}: {story_line(row)}": row for k, row in enumerate(rows, start=1)}
    with right:
        hint = "The first batches of the measured window; those with refusals show the most."
        chosen = choose_one("Batch", list(texts), "story-batch", hint)
    row = texts[chosen]
    ranked = ", then ".join(row.ranked)
    st.markdown(
        f"At {row.dispatched_s:.3f} s, after {1e3 * row.waited_s:.1f} ms in the queue, **{row.jobs} "
        f"of {plain(row.stage)}** ({plain(row.application)}) could run on: {plain(ranked)}."
    )
    if row.refusals:
        frame = pd.DataFrame([r.to_json() for r in row.refusals])
        table(
            frame, "story-refusals", "Every invoker that refused: for which configuration, by which rule, why"
        )
    else:
        st.caption("No invoker refused.")
    st.caption(plain(story_line(row)) + ".")
