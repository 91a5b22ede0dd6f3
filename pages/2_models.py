"""Models: upload or pick one; its graph, its operators, its times, and what splitting can gain."""

import streamlit as st

from nona.report.figures_models import parallelism_figure, provenance_text, time_by_kind_figure
from nona.report.models import inspection
from nona.ui.dagview.dagview import dag_view
from nona.ui.measured_views import measured_times
from nona.ui.model_picker import loaded_model, pick_device, pick_model, upload_model
from nona.ui.model_views import gain_statement, operator_table, operator_view, time_by_kind
from nona.ui.widgets import choice, plain
from nona.ui.workload_edits import add_model
from nona.ui.workspace import current
from nona.units import format_count, format_size, format_time

state = current()
upload_model(state)
columns = st.columns(4)
with columns[0]:
    pick_model(state)
with columns[1]:
    device = pick_device(state)
with columns[2]:
    choice(state, "Software stack", ("cost", "stack"), ("tensorrt", "cuda-graphs", "onnxruntime", "eager"))
with columns[3]:
    choice(state, "Precision", ("cost", "precision"), ("model", "fp32", "fp16", "int8"))
measured_times(state, device)

loaded = loaded_model(state, device)
if loaded is None:
    st.stop()
costed = loaded.prepared.costed[0]
report = inspection(costed)

tiles = st.columns(6)
tiles[0].metric("Operators", f"{report['operators']:,}")
tiles[1].metric("Edges", f"{report['edges']:,}")
tiles[2].metric("Work", f"{report['gmac']:.4g} GMAC")
tiles[3].metric("Parameters", format_count(report["parameters"]))
tiles[4].metric("Weights", format_size(report["weight_bytes"]))
tiles[5].metric("Parallelism T₁/T∞", f"{report['parallelism']:.3f}")

left, right = st.columns([3, 2], vertical_alignment="center")
with left:
    st.plotly_chart(
        parallelism_figure(report["total_compute_s"], report["critical_path_s"]),
        key="parallelism",
        alt="Time of all operators one after the other beside the time of the longest chain",
    )
with right:
    st.markdown(gain_statement(report["parallelism"]))
    st.caption(plain(f"{costed.device}, {provenance_text(report['provenance'])}"))
    st.button("Add to the workload", icon=":material/add:", on_click=add_model, args=(state, state.model))
for warning in report["warnings"]:
    st.warning(plain(warning), icon=":material/warning:")

graph_tab, operator_tab, kind_tab = st.tabs(["Graph", "Operators", "Time by kind"])
with graph_tab:
    data = operator_view(costed)
    if data is None:
        st.info(
            f"{report['operators']:,} operators are too many to draw; the Contraction page draws the tasks."
        )
    else:
        seen = dag_view("model-graph", data)
        picked = next((c for c in costed.costs if c.id == seen.selected), None)
        if picked is None:
            st.caption("Click an operator for its figures. Drag to pan, scroll to zoom, 0 to fit.")
        else:
            st.markdown(
                f"**{plain(picked.id)}** · {plain(picked.kind)} · {format_count(picked.flops, 'FLOP')} · "
                f"{format_size(picked.read_bytes)} read, {format_size(picked.write_bytes)} written, "
                f"{format_size(picked.weight_bytes)} weights · {format_time(picked.compute_s)} "
                f"({picked.provenance})"
            )
with operator_tab:
    table = operator_table(costed)
    st.dataframe(table, hide_index=True, height=520, key="operators")
    st.download_button(
        "Download CSV",
        data=lambda: table.to_csv(index=False),
        file_name="operators.csv",
        mime="text/csv",
        on_click="ignore",
    )
with kind_tab:
    st.plotly_chart(time_by_kind_figure(time_by_kind(costed)), key="kinds", alt="Time by kind of operator")
