"""The map of prediction against simulation, as rows and as text."""
