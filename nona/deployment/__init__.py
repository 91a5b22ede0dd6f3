"""What operators run and deploy: files of other programs, read into a scenario and written from a plan."""
