"""From Python to machine code: built once, kept on disk, made ready before anybody waits."""
