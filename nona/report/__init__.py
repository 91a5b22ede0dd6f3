"""Reports: what results say in words, tables, figures, HTML and files; pure functions."""
