"""Tables, figures, findings and reports of simulations."""
