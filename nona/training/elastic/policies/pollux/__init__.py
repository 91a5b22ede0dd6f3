"""Pollux: batch sizes and GPUs chosen together, by a fitted model of goodput and a genetic search.

``step_model.py``: seconds of a step; ``fitting.py``: its parameters from what was measured; ``goodput.py``:
the best batch size; ``agent.py``: all of these for one job; ``operators.py``, ``ranking.py``, ``search.py``:
the search over who has which GPUs; ``policy.py``: the policy.
"""
