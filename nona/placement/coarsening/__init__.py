"""Coarsening: tasks of an interior that stay on one server, because parting them cannot pay."""

from nona.placement.coarsening.coarsen import coarsen
from nona.placement.coarsening.result import Coarsening, Glue

__all__ = ["Coarsening", "Glue", "coarsen"]
