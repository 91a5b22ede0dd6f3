"""How jobs run beside each other, estimated from a few profiled pairs."""
