"""Reports on language engines."""
