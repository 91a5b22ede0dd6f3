"""Reports on simulations: tables, findings, differences, how sure they are, live series."""
