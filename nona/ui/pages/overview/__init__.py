"""The Overview: questions, demo scenarios, the network story, the pipeline."""
