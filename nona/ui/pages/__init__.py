"""The pages: one module each, larger ones several that begin with the page's name."""
