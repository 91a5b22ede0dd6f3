"""Language models served token by token."""
