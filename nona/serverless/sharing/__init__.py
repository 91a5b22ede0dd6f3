"""Ways of sharing the GPUs of an invoker: counted, sliced by MIG, shared by MPS, taken in turns."""
