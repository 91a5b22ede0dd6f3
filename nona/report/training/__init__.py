"""Reports on training clusters: words, tables and figures of the policies' results."""
