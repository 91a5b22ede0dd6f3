"""The names that options take, from their registries, imported when asked for.

The command line must start, show help and complete words without the modules that do the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nona.cli.parameters import Name, Names, unchecked
from nona.core.errors import NonaError
from nona.core.registry import load


def _names(*places: str) -> Names:
    return lambda: [name for place in places for name in load(place)]


def _check(place: str) -> Callable[[str], object]:
    return lambda name: load(place)(name)


_SCHEDULERS = _names("nona.queries.schedulers.registry:scheduler_names()")
_POLICIES = _names("nona.serverless.policies.registry:policy_names()")
_TRAINING_POLICIES = _names("nona.allocation.registry:policy_names()")
_ROUTERS = "nona.scenario.language:ROUTERS"
_DEVICES = _names("nona.cluster.hardware.device:devices()")
_check_policy = _check("nona.serverless.policies.registry:get_policy")


def check_scheduler(name: str) -> object:
    """Refuse a name that is no scheduler's; that of a policy with the command that runs it.

    Raises ``NonaError`` for another name.
    """
    from nona.queries.schedulers.registry import SCHEDULERS, get_scheduler

    if name not in SCHEDULERS:
        for what, names, command in (
            ("configuration policy for serverless workflows", _POLICIES, "serverless"),
            ("policy for training clusters", _TRAINING_POLICIES, "training simulate"),
        ):
            if name in names():
                raise NonaError(
                    f"--scheduler {name!r} is a {what}; "
                    f"run it with `nona {command} SCENARIO --policy {name}`."
                )
    return get_scheduler(name)


def _check_simulated(name: str) -> object:
    return name if name in load(_ROUTERS) else check_scheduler(name)


def _check_swept(name: str) -> object:
    return _check_policy(name) if name in _POLICIES() else check_scheduler(name)


def _engines() -> Iterable[str]:
    from nona.queries.simulation.run import AUTO, ENGINES

    return (AUTO, *sorted(ENGINES))


def _choices(place: str) -> Names:
    def names() -> Iterable[str]:
        from nona.scenario.words import words

        return words(place).choices

    return names


SCENARIO = Name("scenario", _names("nona.scenario.sample_files:scenario_names()"), unchecked, files=True)
MODEL = Name("model", _names("nona.scenario.sample_files:sample_names()"), unchecked, files=True)
DEVICE = Name("device", _DEVICES, unchecked)
OFFER = Name("offer", _DEVICES, unchecked)
SCHEDULER = Name("scheduler", _SCHEDULERS, check_scheduler)
SIMULATED = Name(
    "scheduler", _names("nona.queries.schedulers.registry:scheduler_names()", _ROUTERS), _check_simulated
)
POLICY = Name("policy", _POLICIES, _check_policy, listed=True)
SWEPT = Name("scheduler", lambda: (*_SCHEDULERS(), *_POLICIES()), _check_swept)
TRAINING_POLICY = Name("policy", _TRAINING_POLICIES, _check("nona.allocation.registry:get_policy"))
_ELASTIC = "nona.training.elastic.registry:ELASTIC"
ELASTIC_POLICY = Name("policy", _names(_ELASTIC), _check(f"{_ELASTIC}.find"), listed=True)
RULE = Name("Contraction rule", _names("nona.models.contraction.rules:RULES"), listed=True)
WAY = Name("way of sharing", _choices("serverless.sharing.mode"), unchecked, listed=True)
ENGINE = Name("Engine", _engines, listed=True)
STACK = Name("stack", _choices("cost.stack"), unchecked, listed=True)
PRECISION = Name("precision", _choices("cost.precision"), unchecked, listed=True)
FORM = Name("form", _names("nona.deployment.exporting:FORMS"), listed=True)
OBJECTIVE = Name("objective", _choices("objective"), unchecked, listed=True)
SURVIVED = Name("failure", _choices("plan.survive"), unchecked, listed=True)
MAPPED = Name("scenario", _names("evidence.prediction_map:SYSTEMS"), unchecked)
NETWORK = Name("network", _names("evidence.decision_cells:workload_table()"), unchecked)
