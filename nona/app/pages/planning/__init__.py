"""The page of plans."""
