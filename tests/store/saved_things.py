"""Items to save: simulations, each made once, and items without meaning for the data base alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from nona import study
from nona.results.saved import SavedFacts
from nona.results.simulation_charts import LiveRun
from nona.scenario.file import scenario_from_mapping
from nona.sources.lookup import Sources
from nona.store.contents import Contents, NewItem
from nona.store.simulations import run_item
from nona.study.outcome import simulated_run, simulation_outcome

FACTS = SavedFacts(
    fingerprint="0" * 12,
    version="1",
    made="now",
    scenario="Monday",
    schedulers=("local", "nona"),
    models=("gpt2",),
    finding="local is shortest.",
)


def probe(name, note="", text=b"{}"):
    """An item that no kind knows."""
    return NewItem(name, note, Contents("probe", b"bundle of " + text, text), FACTS)


SCENARIO: Mapping[str, Any] = {
    "version": 1,
    "name": "Two servers",
    "cluster": {"servers": [{"count": 2, "gpu": "a100-40gb"}]},
    "workload": [{"model": "slides_example", "rate": "20/s", "slo": "40 ms"}],
    "simulation": {"jobs": 60, "replications": 3},
    "schedulers": ["local", "spread"],
}
BOTH = ("local", "spread")


@cache
def simulated(servers=2, seed=1, schedulers=("local", "spread")):
    """A small run on so many servers."""
    data = {
        **SCENARIO,
        "seed": seed,
        "cluster": {"servers": [{"count": servers, "gpu": "a100-40gb"}]},
        "schedulers": list(schedulers),
    }
    prepared = study.prepare(scenario_from_mapping(data))
    result = study.simulate(prepared, engine="simpy")
    outcome = simulation_outcome(prepared, result, "now")
    return simulated_run(prepared, result, outcome, LiveRun(schedulers=schedulers))


def new_item(name, run, sources=None):
    """A run as it is saved."""
    return run_item(name, "", run, sources or Sources())
