"""Is the placement the fastest in simulation? Every sample and network: ``nona study decisions``.

Each network alone and some together, on 16 servers, over speeds of the link, background on it and
load of the executors; what ``nona`` samples from against the other schedulers that see no queue, and
``nona-live`` against all. One run of it ships with the program.
"""

from nona.study.decisions.run import DecisionProgress, DecisionSettings, decisions_study

__all__ = ["DecisionProgress", "DecisionSettings", "decisions_study"]
