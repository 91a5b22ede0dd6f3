"""Service of the app: settings, admission of visitors, end and clean-up of a server."""
