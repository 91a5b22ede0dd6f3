"""Graphs as they are drawn: layout, blocks and colours, what is told of the box that was clicked."""
