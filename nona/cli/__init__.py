"""The command line: commands and options in ``commands``, what they do beside it."""
