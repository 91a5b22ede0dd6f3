"""Reports on training clusters: words, tables and figures of what the policies did."""
