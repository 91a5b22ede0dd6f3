"""The Cluster page: server groups, MIG layouts, links, devices."""
