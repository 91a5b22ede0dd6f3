"""Contraction: merge operators that never gain from running on different executors."""
