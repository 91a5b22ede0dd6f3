"""The map of prediction against simulation, as rows and in words."""
