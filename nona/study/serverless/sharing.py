"""The same workload under several ways of sharing the GPUs, side by side, with the same random numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

from nona.gpu_sharing.registry import WAYS
from nona.scenario.schema import Scenario
from nona.serverless.engine.run import ServerlessProgress
from nona.sources.lookup import Sources
from nona.study.serverless.preparation import prepare_serverless
from nona.study.serverless.run import ServerlessResult, simulate_serverless_scenario, with_sharing

_NO_SOURCES = Sources()


class How(TypedDict, total=False):
    """What :func:`~nona.study.serverless.run.simulate_serverless_scenario` may be told of each way's runs."""

    policies: Sequence[str]
    calls: int | None
    replications: int | None
    workers: int
    oracle: bool


def ways_for(scenario: Scenario | None = None) -> tuple[str, ...]:
    """The ways of sharing that can be compared; with fixed slices only where every server states its own.

    >>> ways_for()
    ('mig-counter', 'mig-geometry', 'mps', 'time-slicing')
    """
    free = [way.name for way in WAYS.values() if not way.fixed_layout]
    if scenario is None or not all(group.mig for group in scenario.cluster.servers):
        return tuple(free)
    return (*free, *(way.name for way in WAYS.values() if way.fixed_layout))


def compare_sharing(
    scenario: Scenario,
    sources: Sources = _NO_SOURCES,
    modes: Sequence[str] = (),
    *,
    on_progress: Callable[[str, float, ServerlessProgress], None] | None = None,
    **how: Unpack[How],
) -> Mapping[str, ServerlessResult]:
    """Way of sharing → result.

    Parameters
    ----------
    modes
        Names of ways; without any, :func:`ways_for` every cluster.
    on_progress
        Called with the mode, the share of all modes' work that is done, and what one run told.
    how
        As :func:`~nona.study.serverless.run.simulate_serverless_scenario` takes it.
    """
    found: dict[str, ServerlessResult] = {}
    base = prepare_serverless(scenario, sources)
    chosen = tuple(modes) or ways_for()
    for done, mode in enumerate(chosen):

        def told(progress: ServerlessProgress, done: int = done, mode: str = mode) -> None:
            if on_progress is not None:
                on_progress(mode, (done + progress.fraction) / len(chosen), progress)

        changed = with_sharing(scenario, mode)
        sharing = base.sharing if changed.serverless is None else changed.serverless.sharing
        found[mode] = simulate_serverless_scenario(
            changed,
            sources,
            system=replace(base, sharing=sharing),
            on_progress=told if on_progress else None,
            **how,
        )
    return found
