"""The demo: eight questions as stories of a few steps, shown on the pages themselves."""
