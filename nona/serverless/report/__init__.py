"""Tables, figures and reports of serverless runs."""
