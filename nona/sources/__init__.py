"""Sources of models, tables and scenarios: samples, the scenario itself, files."""
