"""How the app is served: settings, who may come in, how a server ends and cleans up."""
