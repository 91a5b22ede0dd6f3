"""Tables declared once, and the formats of their values."""
