"""Several tabs of one browser: each shows the scenario as it is, and none undoes what another did."""

import pytest
from begun import BEGUN

from nona.app.pages.scenario.edits import add_group, add_model, remove_entry, remove_group, set_gpu
from nona.app.server.browser import MOST, BrowserTabs
from nona.app.session.state import AppState
from nona.scenario.file import scenario_from_mapping


class Tabs:
    """A state that two tabs show; ``now`` is the one whose script runs."""

    def __init__(self):
        self.now = "left"
        self.state = AppState(screens=BrowserTabs(lambda: self.now))
        for name in ("left", "right"):
            self.at(name).screens.drawn()

    def at(self, name):
        self.now = name
        self.state.screens.current  # noqa: B018 - the tab becomes known
        return self.state


@pytest.fixture
def tabs():
    return Tabs()


def test_an_edit_makes_the_fields_of_other_tabs_new_and_leaves_the_own_ones(tabs):
    mine, theirs = tabs.at("left").revision, tabs.at("right").revision
    assert tabs.at("left").edit(("seed",), tabs.state.scenario.seed)
    assert tabs.at("right").revision == theirs, "an edit that changes nothing draws nothing again"
    assert tabs.at("left").edit(("seed",), 7)
    assert tabs.state.revision == mine
    assert tabs.at("right").revision == theirs + 1
    assert tabs.state.is_behind()
    tabs.state.screens.drawn()
    assert not tabs.state.is_behind()


@pytest.mark.parametrize("what", ["draft", "undo", "row"])
def test_drafts_undo_and_rows_reach_the_other_tab(tabs, what):
    tabs.at("left").edit(("seed",), 7)
    tabs.at("right").screens.drawn()
    theirs = tabs.state.revision
    left = tabs.at("left")
    {
        "draft": lambda: left.edit(("workload", 0, "slo"), "soon"),
        "undo": left.undo,
        "row": lambda: add_model(left, "alexnet"),
    }[what]()
    assert tabs.at("right").revision > theirs


def test_an_edit_of_a_tab_that_was_not_drawn_again_is_not_lost_nor_are_values_of_two_rows(tabs):
    """It was typed into a field of a page that the other tab's change did not reach yet."""
    tabs.at("left").edit(("seed",), 7)
    right = tabs.at("right")
    assert right.screens.current.drawn <= right.revision - 1
    assert right.edit(("name",), "typed on the right")
    assert (right.scenario.seed, right.scenario.name) == (7, "typed on the right")
    add_model(tabs.at("left"), "alexnet")
    tabs.at("right").screens.drawn()
    assert tabs.at("left").edit(("workload", 0, "rate"), "11/s")
    assert tabs.at("right").edit(("workload", 1, "rate"), "12/s")
    assert [row.rate for row in tabs.state.scenario.workload] == [11, 12]


def test_a_row_is_not_removed_nor_a_gpu_chosen_by_a_tab_that_shows_other_rows(tabs):
    add_model(tabs.at("left"), "alexnet")
    tabs.at("right").screens.drawn()
    remove_entry(tabs.at("left"), ("workload",), 0)
    remove_entry(tabs.at("right"), ("workload",), 0)  # the row that this tab shows there is gone
    assert [r.model for r in tabs.state.scenario.workload] == ["alexnet"]
    assert "Another tab" in tabs.state.notice
    add_group(tabs.at("left"))
    set_gpu(tabs.at("right"), 0, "t4")
    assert {g.gpu for g in tabs.state.scenario.cluster.servers} == {"a100-40gb"}


@pytest.mark.parametrize("path", [("workload", 1, "rate"), ("training", "regions", "move"), ("workload", 1)])
def test_a_value_of_a_row_that_another_tab_removed_is_refused(tabs, path):
    assert not tabs.at("right").edit(path, "5/s")
    assert "Another tab" in tabs.state.notice
    assert not tabs.state.drafts


def test_tabs_are_bounded_and_a_new_one_has_fields_of_its_own():
    number = [0]
    screens = BrowserTabs(lambda: str(number[0]))
    seen = []
    for number[0] in range(3 * MOST):
        seen.append(screens.current.revision)
    assert seen == sorted(set(seen))
    assert len(screens._tabs) == MOST


def test_regions_hold_the_same_servers_when_the_cluster_page_removes_a_group():
    servers = [{"count": n, "gpu": "v100"} for n in (1, 2, 3)]
    jobs = [{"name": "a", "steps": 10, "throughputs": {"v100": 1}}]
    regions = {"groups": {"east": [0], "west": [1, 2]}}
    part = {"jobs": jobs, "policies": ["fifo"], "regions": regions}
    state = AppState(scenario_from_mapping({**BEGUN, "cluster": {"servers": servers}, "training": part}))
    remove_group(state, 0)
    assert not state.notice
    training = state.scenario.training
    assert {name: list(numbers) for name, numbers in training.regions.groups.items()} == {"west": [0, 1]}
    add_group(state)
    assert not state.notice
    assert sum(g.count for g in state.scenario.cluster.servers) == 6


@pytest.mark.parametrize("what", ["removed", "undone"])
def test_a_value_typed_for_a_row_does_not_reach_the_row_that_took_its_place(tabs, what):
    left = tabs.at("left")
    for model in ("alexnet", "vgg16"):
        add_model(left, model)
    if what == "undone":  # the rows then stand as before they were swapped
        left.replace_list(("workload",), list(reversed(left.value(("workload",)))))
    tabs.at("right").screens.drawn()
    left = tabs.at("left")
    if what == "removed":
        remove_entry(left, ("workload",), 0)
    else:
        left.undo()
    rates = [row.rate for row in tabs.state.scenario.workload]
    assert not tabs.at("right").edit(("workload", 0, "rate"), "123/s")
    assert [row.rate for row in tabs.state.scenario.workload] == rates
    assert "Another tab" in tabs.state.notice
    tabs.state.screens.drawn()
    assert tabs.state.edit(("workload", 0, "rate"), "123/s")
