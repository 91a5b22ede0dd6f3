"""The commands as people type them: names, options, help; they load the rest when run."""
