"""The Validation page: modelled times, the prediction, theory, self-checks, the paper's evaluation."""
