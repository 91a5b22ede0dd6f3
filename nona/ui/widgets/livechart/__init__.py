"""Live charts: a canvas that takes several updates a second with a dozen lines."""
