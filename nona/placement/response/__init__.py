"""The response of a placement: the distribution of its jobs' times."""
