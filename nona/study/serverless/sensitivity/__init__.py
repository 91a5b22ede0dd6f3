"""What the verdicts of the serverless study depend on: each default replaced by an alternative."""
