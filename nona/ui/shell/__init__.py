"""What surrounds every page: side bar, notices, job panel, equivalent commands."""
