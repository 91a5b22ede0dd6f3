"""INFless: as large a batch as the load fills in time."""
