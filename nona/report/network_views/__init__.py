"""The study of network views as text, rows and a figure."""
