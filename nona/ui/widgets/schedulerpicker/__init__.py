"""Choose schedulers: those chosen as chips; behind a button all of them by family, with a search."""
