"""Tables of results: what a row is, its columns, and how a table is written."""
