"""Show the working: every formula of a prediction with its numbers."""
