"""Files of unknown origin: parsed in a child process with limits."""
