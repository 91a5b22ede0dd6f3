"""What pages are built of: fields tied to the scenario, tables, charts, tiles, drawn components."""
