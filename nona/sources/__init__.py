"""Where models, tables and scenarios come from: the samples that ship, the scenario itself, files."""
