"""Where a batch goes: home invokers, ordered candidates, cold and warm containers."""
