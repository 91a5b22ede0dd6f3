"""The response of a placement: how long its jobs take, as a distribution."""
