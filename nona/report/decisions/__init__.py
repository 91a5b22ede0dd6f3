"""The study of decisions: verdicts, rows and text."""
