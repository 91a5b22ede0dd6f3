"""The names that options take, from their registries, imported when asked for.

The command line must start, show help and complete words without the modules that do the work.
"""

from __future__ import annotations

from collections.abc import Iterable

from nona.cli.parameters import Name, Names, load, unchecked
from nona.errors import NonaError


def _scenarios() -> Iterable[str]:
    from nona.sources.samples import scenario_names

    return scenario_names()


def _models() -> Iterable[str]:
    from nona.sources.samples import sample_names

    return sample_names()


def _devices() -> Iterable[str]:
    from nona.hardware.device import devices

    return devices()


def _schedulers() -> Iterable[str]:
    from nona.schedulers.registry import scheduler_names

    return scheduler_names()


def _simulated() -> Iterable[str]:
    from nona.scenario.language import ROUTERS

    return (*_schedulers(), *ROUTERS)


def _check_simulated(name: str) -> object:
    from nona.scenario.language import ROUTERS

    return name if name in ROUTERS else check_scheduler(name)


def check_scheduler(name: str) -> object:
    """Refuse a name that is no scheduler's; that of a policy with the command that runs it.

    Raises
    ------
    NonaError
        For another name.
    """
    from nona.schedulers.registry import SCHEDULERS, get_scheduler

    if name not in SCHEDULERS:
        for what, names, command in (
            ("configuration policy for serverless workflows", _policies, "serverless"),
            ("policy for training clusters", _training_policies, "training simulate"),
        ):
            if name in names():
                raise NonaError(
                    f"--scheduler {name!r} is a {what}; "
                    f"run it with `nona {command} SCENARIO --policy {name}`."
                )
    return get_scheduler(name)


def _policies() -> Iterable[str]:
    from nona.serverless.policies.registry import policy_names

    return policy_names()


def _check_policy(name: str) -> object:
    from nona.serverless.policies.registry import get_policy

    return get_policy(name)


def _swept() -> Iterable[str]:
    return (*_schedulers(), *_policies())


def _check_swept(name: str) -> object:
    return _check_policy(name) if name in _policies() else check_scheduler(name)


def _training_policies() -> Iterable[str]:
    from nona.allocation.registry import policy_names

    return policy_names()


def _check_training_policy(name: str) -> object:
    from nona.allocation.registry import get_policy

    return get_policy(name)


def _elastic_policies() -> Iterable[str]:
    from nona.training.elastic.registry import ELASTIC

    return ELASTIC


def _check_elastic_policy(name: str) -> object:
    from nona.training.elastic.registry import ELASTIC

    return ELASTIC.find(name)


def _schedules() -> Iterable[str]:
    schedules: Iterable[str] = load("studies.counting.engine:SCHEDULES")
    return schedules


def _solvers() -> Iterable[str]:
    from nona.placement.solver.registry import SOLVERS

    return SOLVERS


def _check_solver(name: str) -> object:
    from nona.placement.solver.registry import SOLVERS

    return SOLVERS.find(name)


def _rules() -> Iterable[str]:
    from nona.contraction.rules import rule_choices

    return rule_choices()


def _engines() -> Iterable[str]:
    from nona.simulation.run import AUTO, ENGINES

    return (AUTO, *sorted(ENGINES))


def _choices(place: str) -> Names:
    """The names that a field of the scenario may have."""

    def names() -> Iterable[str]:
        from nona.scenario.words import words

        return words(place).choices

    return names


def _mapped() -> Iterable[str]:
    systems: tuple[str, ...] = load("studies.prediction_map:SYSTEMS")
    return systems


def _networks() -> Iterable[str]:
    names: Iterable[str] = load("studies.decision_cells:workload_table")()
    return names


SCENARIO = Name("scenario", _scenarios, unchecked, files=True)
MODEL = Name("model", _models, unchecked, files=True)
DEVICE = Name("device", _devices, unchecked)
OFFER = Name("offer", _devices, unchecked)
SCHEDULER = Name("scheduler", _schedulers, check_scheduler)
SIMULATED = Name("scheduler", _simulated, _check_simulated)
POLICY = Name("policy", _policies, _check_policy, listed=True)
SWEPT = Name("scheduler", _swept, _check_swept)
TRAINING_POLICY = Name("policy", _training_policies, _check_training_policy)
ELASTIC_POLICY = Name("policy", _elastic_policies, _check_elastic_policy, listed=True)
SCHEDULE = Name("schedule", _schedules, unchecked, listed=True)
SOLVER = Name("solver", _solvers, _check_solver, listed=True)
RULE = Name("Contraction rule", _rules, listed=True)
WAY = Name("way of sharing", _choices("serverless.sharing.mode"), unchecked, listed=True)
ENGINE = Name("Engine", _engines, listed=True)
STACK = Name("stack", _choices("cost.stack"), unchecked, listed=True)
PRECISION = Name("precision", _choices("cost.precision"), unchecked, listed=True)
OBJECTIVE = Name("objective", _choices("objective"), unchecked, listed=True)
SURVIVED = Name("failure", _choices("plan.survive"), unchecked, listed=True)
MAPPED = Name("scenario", _mapped, unchecked)
NETWORK = Name("network", _networks, unchecked)
