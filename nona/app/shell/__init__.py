"""What surrounds a page."""
