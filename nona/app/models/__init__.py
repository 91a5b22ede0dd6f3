"""Models in the app: read, drawn, edited."""
