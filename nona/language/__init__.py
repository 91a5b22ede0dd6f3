"""Language models, token by token."""
