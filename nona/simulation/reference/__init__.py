"""The reference engine on SimPy: the semantics of the simulator, written to be read."""
