"""One person's session: its scenario, what is kept, its files, its workspace on disk."""
