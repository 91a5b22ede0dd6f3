"""Live charts: series of numbers, and sentences about them."""
