"""The network story: an own component without libraries, three Gantt charts and a curve as SVG."""
