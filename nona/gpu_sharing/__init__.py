"""Ways of sharing the GPUs of an invoker: counted, sliced by MIG, shared by MPS, taken in turns.

``way`` says what a way of sharing declares, ``registry`` holds them by name; a scenario names one.
"""
