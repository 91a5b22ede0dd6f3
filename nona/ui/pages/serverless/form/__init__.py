"""The form of the Serverless page: the question, the platform, the options of the policies."""
