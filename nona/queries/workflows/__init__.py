"""From a scenario to a system, a placement and a simulation."""
