"""Reports on simulations: tables, findings, differences, uncertainty, live series."""
