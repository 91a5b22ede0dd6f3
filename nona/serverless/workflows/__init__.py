"""From a scenario to serverless runs."""
