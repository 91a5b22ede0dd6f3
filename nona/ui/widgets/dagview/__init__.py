"""The DAG view: an own component without libraries, drawn as SVG in the browser."""
