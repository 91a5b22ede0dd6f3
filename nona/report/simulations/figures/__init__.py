"""Figures of a simulation: over time, side by side, Gantt charts, parts, uncertainty."""
