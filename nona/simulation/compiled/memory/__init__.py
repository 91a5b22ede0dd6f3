"""The memory of the compiled engine: records, arrays, heap, messages, results."""
