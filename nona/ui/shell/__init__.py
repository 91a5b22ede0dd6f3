"""What surrounds every page: scenario bar, job panel, sharing, equivalent commands."""
