"""The file that users write, and what it names."""
