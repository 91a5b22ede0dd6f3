"""The events of a run in code that is compiled: a file for each of the reference engine's."""
