"""``nona measure``: the operators of a model timed on this machine."""
