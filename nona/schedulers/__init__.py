"""Schedulers: one policy per file, registered by name, with its source and what was adapted."""
