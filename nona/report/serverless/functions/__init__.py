"""The measured networks: fitted laws, their errors, and the figure of both."""
