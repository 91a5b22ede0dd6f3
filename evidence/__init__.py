"""The studies whose results ship: each is settings, a run, and a result; ``nona study NAME`` runs them.

Results depend on the settings only: ``workers`` processes change nothing but the seconds that a run took.
"""
