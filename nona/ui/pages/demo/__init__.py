"""The demo: seven questions as stories of a few steps, shown on the pages themselves."""
