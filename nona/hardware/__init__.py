"""Hardware: where it can run. Devices with sources, MIG geometry, network, cluster."""
