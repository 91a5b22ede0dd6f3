"""Plain Python functions as machine code, kept on disk."""
