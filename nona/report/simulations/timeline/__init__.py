"""The timeline of a run in Chrome's trace-event format."""
