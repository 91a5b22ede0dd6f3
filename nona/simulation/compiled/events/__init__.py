"""The events of a run in code that is compiled: files named as the reference engine's."""
