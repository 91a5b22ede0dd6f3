"""Items to save: simulations, each made once, and items without meaning for the data base alone."""

from functools import cache

import nona
from nona.app.store.contents import SAVED_KINDS, Contents, NewItem
from nona.app.store.saved_results import SavedFacts
from nona.queries.chart_data import LiveRun
from nona.queries.workflows.outcome import simulated_run, simulation_outcome
from nona.scenario.file import scenario_from_mapping
from nona.scenario.lookup import Sources

MADE = {"fingerprint": "0" * 12, "version": "1", "made": "now", "scenario": "Monday"}
FACTS = SavedFacts(schedulers=("local", "nona"), models=("gpt2",), finding="local is shortest.", **MADE)


def probe(name, note="", text=b"{}"):
    """An item that no kind knows."""
    return NewItem(name, note, Contents("probe", b"bundle of " + text, text), FACTS)


SCENARIO = {
    "version": 1,
    "name": "Two servers",
    "workload": [{"model": "slides_example", "rate": "20/s", "slo": "40 ms"}],
    "simulation": {"jobs": 60, "replications": 3},
}


@cache
def simulated(servers=2, seed=1, schedulers=("local", "spread")):
    """A small run on so many servers."""
    cluster = {"servers": [{"count": servers, "gpu": "a100-40gb"}]}
    data = SCENARIO | {"seed": seed, "cluster": cluster, "schedulers": list(schedulers)}
    prepared = nona.prepare(scenario_from_mapping(data))
    result = nona.simulate(prepared, engine="simpy")
    outcome = simulation_outcome(prepared, result, "now")
    return simulated_run(prepared, result, outcome, LiveRun(schedulers=schedulers))


def new_item(name, run, sources=None):
    return SAVED_KINDS["simulation"].new_item(name, "", run, sources or Sources())
