"""Reports on what goes in: models, devices, clusters, slices, offered load, arrivals."""
