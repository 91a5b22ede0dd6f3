"""Tables, figures and reports of training runs."""
