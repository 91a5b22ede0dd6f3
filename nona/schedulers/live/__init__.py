"""``nona-live``: the placement as a price list, corrected by the queues at a query's arrival."""
