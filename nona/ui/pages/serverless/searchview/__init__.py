"""ESG's search step by step, drawn."""
