"""From a scenario to training runs."""
