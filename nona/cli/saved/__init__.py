"""``nona saved``: what its commands do."""
