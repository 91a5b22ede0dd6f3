"""What pages are built of: fields tied to the scenario, tables, charts, drawn components."""
