"""Options that every policy has beside its own."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import MappingProxyType

from nona.options import Options, check_known
from nona.scenario.late import LATE
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.policies.base import Planner, Policy, Prepare
from nona.serverless.policies.options import choice

DEFAULTS: Options = MappingProxyType({"late": None})
HELP = MappingProxyType(
    {"late": f"What becomes of late calls: {', '.join(LATE)}; none: as the scenario's dispatch says."}
)


def under_options(policy: str, system: ServerlessSystem, options: Options) -> ServerlessSystem:
    """The system as it is under the common options of a policy; itself where none is given.

    Raises
    ------
    SimulationError
        When a value is not one of those that there are.
    """
    if options.get("late") is None:
        return system
    late = choice(policy, options, "late", tuple(LATE))
    return replace(system, dispatch=system.dispatch.model_copy(update={"late": late}))


def with_common_options(policy: Policy) -> Policy:
    """The policy, which now takes the common options too."""
    defaults = {**policy.defaults, **DEFAULTS}
    return replace(
        policy,
        prepare=partial(_prepared, policy.name, policy.prepare, defaults),
        defaults=MappingProxyType(defaults),
        option_help=MappingProxyType({**policy.option_help, **HELP}),
    )


def _prepared(
    name: str, prepare: Prepare, defaults: Options, system: ServerlessSystem, options: Options
) -> Planner:
    """The planner of a policy under the common options; of the module, so that workers can have it."""
    check_known(f"Policy {name!r}", options, defaults)
    own = {key: value for key, value in options.items() if key not in DEFAULTS}
    return prepare(under_options(name, system, options), own)
