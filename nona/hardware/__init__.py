"""Hardware: where it can run. Devices with sources, MIG geometry, servers, network, cluster."""
