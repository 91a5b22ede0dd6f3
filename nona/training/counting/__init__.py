"""Jobs that keep their GPUs and their duration, on a count of GPUs: Tiresias' own simulator.

``job.py``: jobs and their CSV; ``queues.py``: queues by attained service, which elastic jobs use too;
``gittins.py``: the rank by the distribution of sizes; ``schedules.py``: who runs; ``engine.py``: time from
event to event; ``records.py``: what a run leaves.
"""
