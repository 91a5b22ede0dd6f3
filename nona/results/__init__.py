"""Results as typed, immutable objects with one way to JSON and back."""
