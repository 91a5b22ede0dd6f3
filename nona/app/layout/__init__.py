"""The layout of every page: side bar, strip, notices, keys."""
