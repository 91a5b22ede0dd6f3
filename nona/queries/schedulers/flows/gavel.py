"""``gavel``: any policy of a training cluster, by linear programs or formulas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.core.errors import SimulationError
from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle
from nona.queries.schedulers.base import NetworkView
from nona.queries.schedulers.flows.allotter import AskPolicy, flow_scheduler

DEFAULT = "max-min-fairness"
# They place whole jobs, look at prices, give every job the whole cluster in turn, or are schedulers here.
_WITHOUT = frozenset(
    {"fifo", "fifo-agnostic", "sjf", "allox", "cost", "cost-slo", "proportional", "gandiva", "themis-auction"}
)


def flow_policies() -> tuple[str, ...]:
    """Return the policies that ``gavel`` can use, by name.

    >>> "makespan" in flow_policies(), "allox" in flow_policies()
    (True, False)
    """
    from nona.allocation.registry import policy_names

    return tuple(name for name in policy_names() if name not in _WITHOUT)


def _policy(options: Mapping[str, Any]) -> AskPolicy:
    policy = options["policy"]
    if policy not in flow_policies():
        raise SimulationError(
            f"Scheduler 'gavel': option policy={policy!r} does not divide a cluster among flows; "
            f"choose from {', '.join(flow_policies())}."
        )
    return AskPolicy(policy)


SCHEDULER = flow_scheduler(
    _policy,
    {"policy": PolicyOption(DEFAULT, "the policy that divides the executors")},
    name="gavel",
    network_view=NetworkView.N1,
    summary="Divides the executors among query classes by a policy of Gavel; by default fairly (max-min).",
    source=(
        "Narayanan, Santhanam, Kazhamiaka, Phanishayee and Zaharia: Heterogeneity-Aware Cluster "
        "Scheduling Policies for Deep Learning Workloads (Gavel), OSDI 2020, sections 4 and 5; public "
        "code"
    ),
    adaptation=("As a query runs on one executor, placements within a server and over several are the same."),
    look=ChartStyle("#1f6fd0", "solid", "square-x"),
)
