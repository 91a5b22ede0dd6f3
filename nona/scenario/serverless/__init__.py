"""The part of a scenario that makes its workflows serverless: functions, sharing, prices, policies.

All of it has defaults. Where a default comes from, and how sure that is, stands in
:mod:`nona.serverless.provenance`.
"""

from nona.scenario.serverless.functions import (
    MOST_CONFIGURATIONS,
    ConfigurationsSpec,
    CpuLawSpec,
    FunctionSpec,
    GpuLawSpec,
    TimeRow,
)
from nona.scenario.serverless.platform import (
    ContainersSpec,
    DispatchSpec,
    IntervalSpec,
    MemorySpec,
    PricesSpec,
    SharingSpec,
    TransferSpec,
)
from nona.scenario.serverless.whole import PolicyEntry, PolicySpec, ServerlessSpec

__all__ = [
    "MOST_CONFIGURATIONS",
    "ConfigurationsSpec",
    "ContainersSpec",
    "CpuLawSpec",
    "DispatchSpec",
    "FunctionSpec",
    "GpuLawSpec",
    "IntervalSpec",
    "MemorySpec",
    "PolicyEntry",
    "PolicySpec",
    "PricesSpec",
    "ServerlessSpec",
    "SharingSpec",
    "TimeRow",
    "TransferSpec",
]
