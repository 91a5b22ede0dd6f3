"""Pages of placement and simulation."""
