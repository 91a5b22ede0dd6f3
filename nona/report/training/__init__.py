"""Reports on training clusters: words, tables and figures of what policies did."""
