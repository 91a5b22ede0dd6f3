"""The compiled engine: the semantics of the simulator as one event loop in machine code."""
