"""One person's session: its scenario, what is kept, its links, what stands around every page."""
