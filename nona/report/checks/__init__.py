"""Reports on how good all this is: theory against simulation, published latencies."""
