"""Jobs that keep their GPUs, on a count of GPUs: Tiresias' own simulator."""
