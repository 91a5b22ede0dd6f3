"""Users' estimates of their jobs' rates: how wrong they are, and how rounds correct them."""
