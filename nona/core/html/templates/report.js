// Draws each chart from the data behind it, in the colours of the reader's theme.
const dark = matchMedia("(prefers-color-scheme: dark)");
const charts = document.querySelectorAll(".chart");
const ink = () => getComputedStyle(document.body).color;
for (const chart of charts) {
  const { data, layout } = JSON.parse(chart.nextElementSibling.textContent);
  layout.font.color = ink();
  globalThis.Plotly.newPlot(chart, data, layout, { responsive: true, displaylogo: false });
}
dark.addEventListener("change", () => {
  for (const chart of charts) globalThis.Plotly.relayout(chart, { "font.color": ink() });
});
