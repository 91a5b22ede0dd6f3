"""Several links on a message's path: which it crosses, how long it waits at each, and the solver."""
