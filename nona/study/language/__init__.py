"""Studies of language models: from a scenario to engines and requests."""
