"""Both engines do the same on every shipped scenario under every scheduler: half of the suite's longest work.

A file of its own, so that another process runs it beside the random systems.
"""

import pytest
from test_engine_equality import compare

import nona
from nona.queries.placement.fixed import local_placement
from nona.queries.placement.solve import solve
from nona.queries.schedulers.registry import get_scheduler, scheduler_names
from nona.scenario import lookup
from nona.scenario import sample_files as samples
from nona.scenario.file import load_scenario


@pytest.mark.verify
@pytest.mark.parametrize("scenario", samples.query_scenario_names())
def test_every_scheduler_on_every_shipped_scenario(scenario):
    path = samples.scenario_path(scenario)
    loaded = load_scenario(path)
    system = nona.prepare(loaded, lookup.Sources(path.parent)).system
    # whatever is placed, both engines must do the same with it
    placement = local_placement(system) if system.beyond_formula else solve(system)
    options = {entry.name: entry.options for entry in loaded.schedulers}
    for name in scheduler_names():
        # The cluster that a plan begins with is too small: tasks pile up, and tetris looks at all of them.
        beyond = (3, 1) if name == "tetris" else (30, 6)
        jobs, warmup = (250, 50) if loaded.plan is None else beyond
        chosen = get_scheduler(name)
        if system.pools and chosen.picks:
            continue  # instances take tasks from their queues
        given_ = placement if chosen.needs_placement else None
        made = chosen, chosen.prepare(system, given_, options.get(name, {}))
        records = compare(system, made, jobs=jobs, warmup=warmup, timeline_jobs=20, replication=1)
        assert records.decisions == "machine code", name
