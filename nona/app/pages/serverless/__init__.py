"""The page of serverless workflows."""
