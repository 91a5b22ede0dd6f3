"""Input from outside: limits on it, and how files, CSV and archives are read."""
