"""Placements searched by sampled completion times: fewest missed SLOs, or the least mean.

The mean by formula has a certificate; what sampled jobs say (:mod:`nona.placement.response`) has none, but
knows more: the tail of the distribution, and work that comes back to a server where its own job still
runs. So this is a search from the certified placement, honest about its sampling error, with a bound from
below on missed SLOs that holds for every placement. ``docs/sampled-search.md`` says how it was tested.
"""
