"""The study of decisions, as verdicts, rows and words."""
