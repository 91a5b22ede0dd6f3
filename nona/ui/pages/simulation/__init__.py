"""The Simulation page: controls, runs and their results, the baseline, what-ifs."""
