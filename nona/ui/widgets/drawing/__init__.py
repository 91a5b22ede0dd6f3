"""Pictures and small lists drawn from plain data, in the colours of the theme."""
