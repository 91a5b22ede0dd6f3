"""Reports on placements: certificate, prediction, sentences, figures, the working."""
