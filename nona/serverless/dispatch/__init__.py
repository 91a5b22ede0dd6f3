"""Where a batch goes: home invokers, ordered candidates, which queue is next, and warm containers."""
