"""Schedulers: one policy per file, registered by name, with its source."""
