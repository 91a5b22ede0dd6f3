"""Model graphs: read, cost, contract, decompose."""
