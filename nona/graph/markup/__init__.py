"""DOT and GraphML: graphs whose attributes are texts."""
