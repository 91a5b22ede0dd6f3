"""Reports: metrics, tables, figures (pure functions) and exports."""
