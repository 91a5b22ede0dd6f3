"""Results of a placement: prediction, certificate, configurations, memory, search, the working."""
