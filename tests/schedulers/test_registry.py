"""The registry, and what each scheduler declares."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from scheduler_cases import slides_query, system_of

from nona.errors import SimulationError
from nona.schedulers.base import FAMILY_TITLES, NetworkView
from nona.schedulers.registry import SCHEDULERS, get_scheduler, scheduler_names


@pytest.mark.parametrize("name", scheduler_names())
def test_every_scheduler_declares_itself(name):
    scheduler = get_scheduler(name)
    assert scheduler.name == name
    assert scheduler.kind in ("bind", "pick", "configure", "allocate")
    assert isinstance(scheduler.network_view, NetworkView)
    for text in (scheduler.summary, scheduler.source, scheduler.adaptation):
        assert len(text) > 20
        assert "\n" not in text
    assert pickle.loads(pickle.dumps(scheduler)) == scheduler


@pytest.mark.parametrize("name", scheduler_names())
def test_every_shipped_scheduler_belongs_to_a_family(name):
    """ "other" is what a scheduler has that declares none."""
    assert get_scheduler(name).family in set(FAMILY_TITLES) - {"other"}


@pytest.mark.parametrize("name", scheduler_names())
def test_unknown_options_and_missing_placements_are_refused(name):
    scheduler = get_scheduler(name)
    system = system_of([slides_query()])
    with pytest.raises(SimulationError, match=f"{name}.*'cap' is not known"):
        scheduler.prepare(system, None, {"cap": 3})
    if scheduler.needs_placement:
        with pytest.raises(SimulationError, match="solve one first"):
            scheduler.prepare(system, None, {})


def test_unknown_names_get_the_list():
    with pytest.raises(SimulationError, match=f"choose from {', '.join(scheduler_names())}"):
        get_scheduler("quincy")


def test_register_adds_once_and_refuses_a_taken_name():
    mine = replace(get_scheduler("local"), name="mine")
    assert SCHEDULERS.register(mine) is mine
    try:
        assert get_scheduler("mine") is mine
        assert scheduler_names()[-1] == "mine"
        with pytest.raises(SimulationError, match="taken"):
            SCHEDULERS.register(replace(mine, kind="bind"))
    finally:
        SCHEDULERS.unregister("mine")
    assert "mine" not in scheduler_names()
