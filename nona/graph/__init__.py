"""Model graphs: what is computed. One reader per file format, and algorithms on DAGs."""
