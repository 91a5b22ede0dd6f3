"""The fitted networks: measured points and law, errors."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.serverless.functions.figure import fit_figure
from nona.report.serverless.functions.fits import fit_rows, fit_title, fits_finding
from nona.serverless.profiles.fits import shipped_fits
from nona.serverless.profiles.measurements import SOURCE, measured_points
from nona.ui.pages.serverless.layout_views import choose_one
from nona.ui.widgets.charts import chart
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table


def fit_views() -> None:
    """One network's points and law, and the table of all."""
    fits = {fit.network: fit for fit in shipped_fits()}
    st.markdown("**Measured networks**")
    st.caption(
        f"Source: {plain(SOURCE)}. Law for b jobs on g vGPUs: max(F, (a + k · b) / g^α), fitted by least "
        f"mean relative error. {plain(fits_finding(tuple(fits.values())))}"
    )
    name = choose_one("Network", list(fits), "fit-network", "The network whose measured times are drawn.")
    fit = fits[name]
    alt = "Measured milliseconds of a batch by its size, for each slice, with the fitted law as a line"
    chart(fit_figure(measured_points(name), fit.law), fit_title(fit), "serverless-fit", alt)
    with st.expander("All fits and their errors", icon=":material/table:"):
        alt = "For each network the fitted law, its error, and its error on slices and batches left out"
        table(pd.DataFrame(fit_rows(tuple(fits.values()))), "serverless-fits", alt)
