"""How the app is served: settings, allowed hosts, the password's file, the folder for work to keep."""
