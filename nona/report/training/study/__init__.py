"""The study of training policies in words, rows and claims."""
