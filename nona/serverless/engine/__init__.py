"""The engine: a loop over arrays as machine code, which asks Python what is not in them."""
