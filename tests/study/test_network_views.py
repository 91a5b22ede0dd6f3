"""Who sees the network: the study, its words, and the remarks on other systems."""

from dataclasses import replace

import pytest

from nona.results.document import UNKNOWN, Estimate
from nona.schedulers.base import VIEW_MEANINGS, NetworkView
from nona.schedulers.registry import SCHEDULERS, get_scheduler
from nona.study.shipped import stored_result
from studies import network_remarks
from studies.network_remarks import REMARKS, known_remarks
from studies.network_views import NetworkViewSettings, network_views_study
from studies.reports import network_views
from studies.reports.network_views import network_views_figure
from studies.results import NetworkViewRow, NetworkViewsStudy, OnLink
from tests.report.filled import but

TINY = NetworkViewSettings(jobs=150, replications=2, schedulers=("spread", "least-loaded"))


def bare(found):
    """The study without what the clock says."""
    return but(found, about=but(found.about, seconds=0.0, made=""))


def made(**rows):
    """A study of rows that send tensors: view, slowdown, state on the loaded link."""
    one, found = Estimate(mean=1.0, ci95=(1.0, 1.0)), []
    idle = OnLink(state="stable", jct_s=one, to_local=one, link=0.5)
    for name, (view, slowdown, state) in rows.items():
        links = {
            "idle": idle,
            "loaded": but(idle, state=state, jct_s=UNKNOWN if state == "overloaded" else one),
        }
        of = {"scheduler": name.replace("_", "-"), "view": view, "planned": False, "slowdown": slowdown}
        found.append(NetworkViewRow(**of, **links))
    return but(stored_result(NetworkViewsStudy), rows=tuple(found))


@pytest.mark.verify
def test_the_study_is_the_same_whatever_the_number_of_workers_and_local_is_always_in_it():
    found = network_views_study(TINY, engine="simpy")
    assert bare(found) == bare(network_views_study(TINY, engine="simpy", workers=2))
    assert [r.scheduler for r in found.rows] == ["local", "spread", "least-loaded"]
    for row in found.rows:
        if not row.sends:  # the same jobs on both links: nothing else may differ
            assert row.idle.jct_s == row.loaded.jct_s
            assert row.slowdown.mean == 1.0
    spread = found.rows[1]
    assert spread.sends
    assert spread.loaded.link > spread.idle.link
    assert (spread.slowdown.mean or 0.0) > 1.0


@pytest.mark.verify
def test_a_point_computed_again_lies_in_the_stored_interval():
    about = stored_result(NetworkViewsStudy).about
    settings = NetworkViewSettings(jobs=about.jobs, replications=4, schedulers=("spark-fair",))
    again = network_views_study(settings).rows[-1]
    stored = next(r for r in stored_result(NetworkViewsStudy).rows if r.scheduler == "spark-fair")
    for new, old in ((again.idle, stored.idle), (again.loaded, stored.loaded)):
        (low, high), (least, most) = new.jct_s.ci95 or (1.0, 0.0), old.jct_s.ci95 or (1.0, 0.0)
        assert low <= most
        assert least <= high


def test_who_sends_nothing_does_not_notice_the_link_and_who_sends_without_seeing_it_does():
    rows = {r.scheduler: r for r in stored_result(NetworkViewsStudy).rows}
    for name in ("local", "least-loaded", "least-loaded-d"):
        assert not rows[name].sends
        assert rows[name].idle == rows[name].loaded.model_copy(update={"link": rows[name].idle.link})
    assert all(network_views.loses(rows[name]) for name in ("opportunistic", "sparrow", "tetris", "flexflow"))
    views = {name: get_scheduler(name).network_view.name for name in rows if name in SCHEDULERS}
    assert {name: rows[name].view for name in views} == views


@pytest.mark.parametrize(
    ("interval", "state", "said"),
    [((1.01, 1.2), "stable", 1), ((0.9, 1.2), "stable", 0), (None, "overloaded", 1)],
)
def test_the_title_counts_who_is_surely_slower(interval, state, said):
    slow = UNKNOWN if state == "overloaded" else Estimate.from_json({"mean": 1.1, "ci95": interval})
    data = made(sparrow=("N0", slow, state), nona_live=("N4", slow, state))
    assert network_views.title(data).startswith(f"{said} of 1 schedulers")
    slower = [line for line in network_views.findings(data) if line.startswith("Slower on the loaded link")]
    assert len(slower) == said
    assert all("sparrow" in line and "nona-live" not in line for line in slower)


def test_rows_of_schedulers_that_are_not_registered_or_changed_their_view_are_left_out():
    slow = Estimate(mean=1.1, ci95=(1.05, 1.15))
    data = made(sparrow=("N0", slow, "stable"), gone=("N0", slow, "stable"), tetris=("N0", slow, "stable"))
    assert [r.scheduler for r in network_views.by_slowdown(data)] == ["sparrow"]
    assert [row["scheduler"] for row in network_views.views(data).texts()] == ["sparrow"]


def test_remarks_are_complete_and_appear_with_their_scheduler(monkeypatch):
    assert set(VIEW_MEANINGS) == set(NetworkView)
    for remark in REMARKS.values():
        assert all((remark.system, remark.slides, remark.source))
    before = known_remarks()
    newcomer = replace(REMARKS["sparrow"], scheduler="newcomer", system="Newcomer")
    monkeypatch.setattr(network_remarks, "REMARKS", {**REMARKS, "newcomer": newcomer})
    assert known_remarks() == before
    with SCHEDULERS.registered(replace(get_scheduler("local"), name="newcomer")):
        assert known_remarks() == (*before, newcomer)
        rows = {row["system"]: row for row in network_views.remarks(made()).texts()}
        assert network_views.NOT_RUN in rows["Newcomer"].values()


def test_who_draws_from_a_solved_placement_is_said_to_know_the_mean_background():
    data = stored_result(NetworkViewsStudy)
    planned = {r.scheduler for r in data.rows if r.planned}
    assert "nona" in planned
    assert all(name in network_views.planned_text(data) for name in planned)
    assert network_views.planned_text(data) in network_views.presented(data).text()
    views = {row["scheduler"]: row["view"] for row in network_views.views(data).texts()}
    assert {name for name, view in views.items() if "mean background" in view} == planned


def test_text_figure_and_file_have_every_scheduler_say_who_sends_nothing_and_no_ratio_reads_one_times():
    data = stored_result(NetworkViewsStudy)
    ratios = {row["scheduler"]: row["loaded / idle"] for row in network_views.views(data).texts()}
    assert ratios["local"] == "no tensor"
    assert ratios["spread"][0].isdigit()
    same = Estimate(mean=1.0004, ci95=(1.0001, 1.0007))
    told = network_views.presented(made(sparrow=("N0", same, "stable"))).text()
    assert "sparrow (equally long)" in told
    assert "(1 times" not in told
    text = network_views.presented(data).text()
    assert text.startswith(network_views.title(data))
    assert data.about.command in text
    drawn = [y for trace in network_views_figure(data).data for y in trace.y]
    for row in data.rows:
        assert row.scheduler in text
        assert any(row.scheduler in y for y in drawn)
    assert len(network_views.figures(data)) == 2 * len(data.rows)
