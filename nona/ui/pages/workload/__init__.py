"""The Workload page: the mix, its load, arrivals and traces."""
