"""Where models, tables and scenarios come from: samples, the scenario itself, files."""
