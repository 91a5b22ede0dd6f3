"""The Validation page: self-checks, theory against simulation, published latencies."""
