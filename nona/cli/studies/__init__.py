"""``nona study``: the studies that ship with the program."""
