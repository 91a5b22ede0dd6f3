"""The systems of the map: shipped scenarios, generated networks, and arrivals in bursts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from nona.errors import SimulationError
from nona.scenario.file import load_scenario
from nona.sources.samples import scenario_path
from nona.study.decisions.cells import Cell
from nona.study.decisions.workloads import cell_scenario, workload_table
from nona.study.preparation import prepare
from nona.study.sweeps.numbers import with_value
from nona.system import Arrivals, System

SCENARIOS = (
    "slides_example",
    "vision_language_8_servers",
    "five_models_80_servers",
    "background_sweep",
    "ensemble_bursty",
    "esg_workflows",
    "mig_layouts",
    "racks_and_nics",
    "rag_pipeline",
)
_BURSTY = "vision_language_8_servers"
_NETWORK_CELL = Cell(100.0, 0.3, 0.5)  # link speed (Gbit/s) and what the map's loads start from


def _trace(gaps: int = 4000, sigma: float = 1.2, seed: int = 0) -> Arrivals:
    """A trace of log-normal gaps (their coefficient of variation is 1.8), as a file would give it."""
    drawn = np.random.default_rng(seed).lognormal(0.0, sigma, gaps)
    return Arrivals("trace", times_s=tuple(np.cumsum(drawn).tolist()))


# Name → arrivals of every class of the shipped scenario ``_BURSTY``.
BURSTS: Mapping[str, Arrivals] = MappingProxyType(
    {
        "gamma gaps, cv 2": Arrivals("gamma", cv=2.0),
        "gamma gaps, cv 3": Arrivals("gamma", cv=3.0),
        "bursts (MMPP)": Arrivals("mmpp", burst_factor=3.0, burst_fraction=0.1, burst_mean_s=1.0),
        "trace": _trace(),
    }
)
ON_MAP = (  # of the generated networks one of each family
    "whisper_small",
    "stable_diffusion_u_net",
    "mixture_8",
    "ensemble_8",
    "retrieval_32",
    "two_tower_16",
    "diffusion_4",
)
SYSTEMS: tuple[str, ...] = (*SCENARIOS, *BURSTS, *ON_MAP)


def map_system(name: str, seed: int | None = None) -> System:
    """The system called ``name``, with another seed where one is given.

    Raises
    ------
    SimulationError
        For a name that is not on the map.
    """
    if name in ON_MAP:
        scenario = cell_scenario(workload_table()[name], _NETWORK_CELL, seed or 0)
        return prepare(scenario).system
    if name not in SYSTEMS:
        raise SimulationError(f"Study: {name!r} is not on the map; choose from {', '.join(SYSTEMS)}.")
    scenario = load_scenario(scenario_path(_BURSTY if name in BURSTS else name))
    system = prepare(scenario if seed is None else with_value(scenario, "seed", seed)).system
    if name not in BURSTS:
        return system
    return replace(system, queries=tuple(replace(q, arrivals=BURSTS[name]) for q in system.queries))
