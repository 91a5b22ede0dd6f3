"""Who sees the network: every scheduler on an idle and on a loaded link, ``nona study network-views``."""
