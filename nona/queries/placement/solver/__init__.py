"""The certified solver of the formula."""
