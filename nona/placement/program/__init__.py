"""The placement as a program in arrays: columns and lines at a constant server wait."""
