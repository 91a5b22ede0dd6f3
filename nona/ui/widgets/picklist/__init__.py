"""A list to pick from, with a search field: by mouse, or by keyboard alone."""
