"""Placements judged by simulation: short runs, the referee, rehearsals."""
