"""The compiled engine: the plain engine's loop as machine code, with equal records."""
