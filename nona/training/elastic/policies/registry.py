"""The policies for elastic jobs by name."""

from __future__ import annotations

from nona.errors import SimulationError
from nona.registry import Registry
from nona.training.elastic.policies import optimus, tiresias
from nona.training.elastic.policies.base import ElasticPolicy

_MODULES = (tiresias, optimus)
ELASTIC: Registry[ElasticPolicy] = Registry(
    "Elastic policy", (module.POLICY for module in _MODULES), SimulationError
)
"""All of them, in order of registration."""
