"""The tab Functions of the Serverless page: where times are from, and that a choice is the scenario's."""

from __future__ import annotations

from typing import Any

import pytest
from app_driver import Open, tab

from nona.report.serverless.functions import fit_title
from nona.scenario.file import load_scenario
from nona.serverless.fits import shipped_fits
from nona.serverless.functions import network_law
from nona.sources.samples import scenario_path

PAGE = "9_serverless"
PROFILE = b"batch,vgpus,ms\n1,1,10\n16,1,90\n1,7,4\n16,7,20\n"


def state_of(at: Any) -> Any:
    return at.session_state["nona_state"]


def box(at: Any, label: str) -> Any:
    return next(s for s in at.selectbox if s.label == label)


def test_functions_get_the_times_of_a_network_of_a_file_and_their_own_again(open_page: Open) -> None:
    at = open_page(PAGE)
    state_of(at).adopt(load_scenario(scenario_path("strict_light")))
    at = tab(at.run(), "serverless-tabs", "Functions")
    assert not at.exception
    times = at.dataframe[0].value.set_index("function")
    assert times.loc["deblur", "smallest, ms"] == 319
    assert times.loc["deblur", "on the CPU, %"] == 20
    assert times.loc["deblur", "on 7 vGPUs, ms"] == pytest.approx(319 * (0.2 + 0.8 * 0.19), abs=0.01)

    box(at, "Function").set_value("deblur").run()
    box(at, "Its times are").set_value("bert").run()
    assert state_of(at).scenario.serverless.functions["deblur"].network == "bert"
    times = at.dataframe[0].value.set_index("function")
    assert times.loc["deblur", "smallest, ms"] == pytest.approx(
        1e3 * network_law("bert").seconds(1, 1), abs=0.01
    )
    assert times.loc["deblur", "confirmed"] == "measured"

    at.file_uploader(key="profile-file").upload("mine.csv", b"batch,ms\n0,1\n").run()
    assert "batch='0'" in at.error[0].value.replace("\\", "")
    at.file_uploader(key="profile-file").upload("mine.csv", PROFILE).run()
    assert not at.exception
    assert not at.error
    assert state_of(at).scenario.serverless.functions["deblur"].profile == "mine.profile.csv"
    assert box(at, "Its times are").value == "mine.profile.csv"
    assert at.dataframe[0].value.set_index("function").loc["deblur", "on 7 vGPUs, ms"] == 4

    box(at, "Its times are").set_value("its default").run()
    assert state_of(at).scenario.serverless.functions == {}
    next(t for t in at.number_input if t.label == "CPU share").set_value(0.5).run()
    assert state_of(at).scenario.serverless.cpu_share == 0.5
    assert at.dataframe[0].value["on the CPU, %"].tolist() == [50.0] * 6

    box(at, "Network").set_value("resnet50").run()
    fit = next(f for f in shipped_fits() if f.network == "resnet50")
    assert any(fit_title(fit) in m.value.replace("\\", "") for m in at.markdown)
