"""The server: settings, access, the end of sessions."""
