"""The studies whose results ship: each is settings, a run, and a result; ``nona study NAME`` runs them."""
