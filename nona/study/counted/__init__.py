"""Jobs that keep their GPUs, under several schedules."""
