"""The compiled engine of queries."""
