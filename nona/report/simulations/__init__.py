"""Reports on simulations of queries: numbers, tables, findings, charts, files."""
