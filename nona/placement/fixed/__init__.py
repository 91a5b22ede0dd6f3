"""Fixed placements: local, spread, and the presets of an expert."""
