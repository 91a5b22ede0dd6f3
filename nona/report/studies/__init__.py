"""The studies that ship with the program in words, rows and figures."""
