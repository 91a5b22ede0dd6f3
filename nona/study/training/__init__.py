"""From a scenario to a training system, its runs, and the studies of policies."""
