"""The policies for elastic jobs by name."""

from __future__ import annotations

from nona.core.errors import SimulationError
from nona.core.registry import Registry
from nona.training.elastic import gandiva, gavel, in_order, optimus, pollux, tiresias
from nona.training.elastic.policy import ElasticPolicy

ELASTIC: Registry[ElasticPolicy] = Registry(
    "Elastic policy",
    (
        *(pollux.POLICY, optimus.POLICY, optimus.LINKED, tiresias.POLICY, gandiva.POLICY, gavel.POLICY),
        *(in_order.SJF, in_order.FIFO),
    ),
    SimulationError,
)
"""All of them, in order of registration."""
