"""What stands around every page: scenario bar, job panel, sharing, equivalent commands."""
