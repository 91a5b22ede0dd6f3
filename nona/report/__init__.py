"""Reports: results in words, tables, figures, HTML and files; pure functions."""
