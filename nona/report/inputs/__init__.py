"""Reports on the inputs: models, devices, clusters, slices, offered load, arrivals."""
