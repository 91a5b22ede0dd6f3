"""Placements searched by sampled completion times: fewest missed SLOs, or least mean."""
