"""Frame of every page: side bar, notices, job panel, equivalent commands."""
