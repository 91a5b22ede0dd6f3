"""The policies for elastic jobs by name."""

from __future__ import annotations

from nona.errors import SimulationError
from nona.registry import Registry
from nona.training.elastic.policies import fifo, gandiva, gavel, sjf, tiresias
from nona.training.elastic.policies.base import ElasticPolicy
from nona.training.elastic.policies.optimus import linked
from nona.training.elastic.policies.optimus import policy as optimus
from nona.training.elastic.policies.pollux import policy as pollux

_MODULES = (pollux, optimus, linked, tiresias, gandiva, gavel, sjf, fifo)
ELASTIC: Registry[ElasticPolicy] = Registry(
    "Elastic policy", (module.POLICY for module in _MODULES), SimulationError
)
"""All of them, in order of registration."""
