"""ESG: the search for a group's configurations, and the SLO that each group gets."""
