"""The tab of the functions: where their times are from, the default law, the fits."""
