"""Training clusters: long jobs on GPUs of several types, shared round by round (Gavel, OSDI 2020).

A *policy* answers which share of time each job has on each type; the *mechanism* enforces the answer in
rounds; the *engine* simulates both. Steps and seconds are those of whole jobs, not of one GPU.
"""
