"""Results of simulations: reports, differences, series for charts, live figures, comparisons."""
