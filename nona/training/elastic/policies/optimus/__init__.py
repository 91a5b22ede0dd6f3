"""Optimus: GPUs by marginal gains, with known or with fitted step times and remaining iterations.

``step_time.py`` and ``convergence.py`` fit what ``estimates.py`` answers; ``policy.py`` gives GPUs;
``linked.py`` is the one that sees the link (ours).
"""
