"""From a scenario to runs and plans of language models."""
