"""Tables, figures and findings of placements."""
