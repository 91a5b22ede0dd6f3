"""Training of the learned schedulers by reinforcement, on the simulation's own engine."""
