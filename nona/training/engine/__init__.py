"""The engine: rounds over arrays, and the fluid bound."""
