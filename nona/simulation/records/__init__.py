"""Records: what a run leaves behind, job by job or added up, and the checks on it."""
