"""Tables, figures and reports of language models."""
