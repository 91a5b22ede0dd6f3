"""What each study says: its finding in sentences, its tables and figures, its provenance."""
