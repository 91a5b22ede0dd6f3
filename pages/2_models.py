"""Models: upload or pick one; its graph, its operators, its times, and what splitting can gain."""

import streamlit as st

from nona.report.inputs.figures import provenance_text, time_by_kind_figure
from nona.report.inputs.given_times import given_text
from nona.report.inputs.models import inspection
from nona.ui.graphs.tabs import model_graph
from nona.ui.pages.models.files import graph_download
from nona.ui.pages.models.given_views import given_section
from nona.ui.pages.models.measured_views import measured_times
from nona.ui.pages.models.picker import loaded_model, pick_device, pick_model, upload_model
from nona.ui.pages.models.sample_picks import sample_picks
from nona.ui.pages.models.views import gain_statement, operator_table, parallelism_picture, time_by_kind
from nona.ui.pages.workload.edits import add_model
from nona.ui.session.workspace import current
from nona.ui.shell.equivalents import equivalent
from nona.ui.widgets.charts import picture
from nona.ui.widgets.drawing.drawing import draw
from nona.ui.widgets.fields import choice, plain
from nona.ui.widgets.tables import table
from nona.ui.widgets.tiles import tiles
from nona.units import format_count, format_size

state = current()
upload_model(state)
sample_picks(state)
columns = st.columns(4)
with columns[0]:
    pick_model(state)
with columns[1]:
    device = pick_device(state)
with columns[2]:
    stacks = ("tensorrt", "cuda-graphs", "onnxruntime", "eager")
    choice(
        state, "Software stack", ("cost", "stack"), stacks, "What runs the operators; it sets launch costs."
    )
with columns[3]:
    precisions = ("model", "fp32", "fp16", "int8")
    choice(
        state, "Precision", ("cost", "precision"), precisions, "Fewer bits: fewer bytes, faster arithmetic."
    )
above = st.container()
loaded = loaded_model(state, device)  # first, so that a page that waits says so in the open
with above:
    measured_times(state, device)
    given_section(state, device)
if loaded is None:
    st.stop()
costed = loaded.prepared.costed[0]
report = inspection(costed)
tiles(
    [
        ("Operators", f"{report.operators:,}", "Nodes that run; constants are parameters, not operators."),
        ("Edges", f"{report.edges:,}", "Pairs of operators of which one reads what the other wrote."),
        ("Work in GMAC", f"{report.gmac:.4g}", "10⁹ multiply-adds of convolutions and matrix products."),
        ("Parameters", format_count(report.parameters), "Weights, each counted once."),
        ("Weights", format_size(report.weight_bytes), "Bytes of all parameters."),
        (
            "Parallelism T₁/T∞",
            f"{report.parallelism:.3f}",
            "All operators one after the other, over the longest chain: the most that splitting can gain.",
        ),
    ]
)
left, right = st.columns([3, 2], vertical_alignment="center")
with left:
    draw("parallelism", parallelism_picture(report.total_compute_s, report.critical_path_s))
with right:
    st.markdown(gain_statement(report.parallelism))
    given = given_text(report.given, costed.device)
    told = f"{costed.device}, {provenance_text(report.provenance)}" + (f" ({given})" if given else "")
    st.caption(plain(told))
with st.container(horizontal=True, vertical_alignment="center"):
    st.button(
        "Add to the workload",
        icon=":material/add:",
        on_click=add_model,
        args=(state, state.model),
        help="Queries of this model arrive in the scenario, ten a second at first.",
    )
    st.page_link("pages/5_workload.py", label="Edit the workload", icon=":material/stacked_line_chart:")
    st.page_link("pages/3_contraction.py", label="See what contracts", icon=":material/compress:")
    graph_download(loaded)
    equivalent(state, "inspect", state.model, "--device", device, key="inspect", scenario=False)
for warning in report.warnings:
    st.warning(plain(warning), icon=":material/warning:")

graph_tab, operator_tab, kind_tab = st.tabs(
    ["Graph", "Operators", "Time by kind"], key="model-tabs", on_change="rerun"
)
if graph_tab.open:
    with graph_tab:
        model_graph(state, loaded)
if operator_tab.open:
    with operator_tab:
        table(operator_table(costed), "operators", "Work and time of every operator", height=520)
if kind_tab.open:
    with kind_tab:
        picture(time_by_kind_figure(time_by_kind(costed)), key="kinds", alt="Time by kind of operator")
