"""Components of pages: fields tied to the scenario, tables, charts, drawings."""
