"""The pages: one package for each, with its controls, its run area and its views."""
