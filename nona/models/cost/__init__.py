"""Times of operators on devices."""
