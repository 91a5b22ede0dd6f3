"""The Training page for elastic jobs: settings, the run as it goes on, and what it found."""
