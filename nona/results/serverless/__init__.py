"""Results of serverless simulations and of the serverless study."""
