"""Ways of sharing an invoker's GPUs: counted, sliced by MIG, by MPS, in turns."""
