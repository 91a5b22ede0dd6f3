"""The same workload under several ways of sharing the GPUs, side by side, with the same random numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nona.scenario.schema import Scenario
from nona.serverless.engine.run import ServerlessProgress
from nona.sources.lookup import Sources
from nona.study.serverless.preparation import prepare_serverless
from nona.study.serverless.run import ServerlessResult, simulate_serverless_scenario, with_sharing

MODES = ("mig-counter", "mig-geometry", "mps", "time-slicing")
_NO_SOURCES = Sources()


def compare_sharing(
    scenario: Scenario,
    sources: Sources = _NO_SOURCES,
    modes: Sequence[str] = MODES,
    *,
    on_progress: Callable[[str, float, ServerlessProgress], None] | None = None,
    **how: Any,
) -> Mapping[str, ServerlessResult]:
    """Way of sharing → result.

    Parameters
    ----------
    on_progress
        Called with the mode, the share of all modes' work that is done, and what one run told.
    how
        As :func:`~nona.study.serverless.run.simulate_serverless_scenario` takes it.
    """
    found: dict[str, ServerlessResult] = {}
    base = prepare_serverless(scenario, sources)
    for done, mode in enumerate(modes):

        def told(progress: ServerlessProgress, done: int = done, mode: str = mode) -> None:
            if on_progress is not None:
                on_progress(mode, (done + progress.fraction) / len(modes), progress)

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
