"""One person's session: its scenario, what is kept, its links, what surrounds every page."""
