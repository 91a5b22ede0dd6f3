"""The page of training clusters."""
