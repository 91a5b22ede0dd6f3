"""The simulated platform, event by event."""
