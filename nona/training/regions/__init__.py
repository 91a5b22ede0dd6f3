"""Regions: when it pays to move a job over the wide-area network."""
