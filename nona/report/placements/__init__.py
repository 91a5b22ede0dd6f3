"""Reports on placements: certificate and prediction, sentences, the working."""
