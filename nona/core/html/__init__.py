"""HTML reports: the template and its pieces."""
