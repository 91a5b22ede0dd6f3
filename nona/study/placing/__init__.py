"""Placements judged by what is simulated: short runs, the referee, rehearsals."""
