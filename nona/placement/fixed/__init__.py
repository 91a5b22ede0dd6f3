"""Fixed placements: local, spread, and the presets that a person would try by hand."""
