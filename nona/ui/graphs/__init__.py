"""Drawn graphs: layout, blocks, colours, and the details of the selected box."""
