"""Commands that size a cluster: ``nona capacity`` and ``nona plan``."""
