"""The Saved page: the list, items side by side, files; and the button that saves a run."""
