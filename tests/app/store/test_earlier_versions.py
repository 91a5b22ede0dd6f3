"""What earlier versions wrote, with keys that are gone since, opens with all the rest."""

import io
import json
import zipfile
from base64 import urlsafe_b64encode
from functools import cache
from zlib import compress

import pytest
import yaml
from saved_things import simulated

from nona.app.server.browser import new_token
from nona.app.session.saving import WorkspaceStore
from nona.app.session.share import unpack
from nona.app.session.state import AppState
from nona.app.session.workspace_files import FILE, RestoredNotice
from nona.app.store.contents import Contents, scenario_of
from nona.core.errors import ScenarioError
from nona.planning.results import PlanOutcome, PlanSeries
from nona.queries.chart_data import LiveLine
from nona.queries.workflows.shipped import stored_result
from nona.scenario.file import parse_scenario, scenario_from_mapping, scenario_to_mapping
from nona.scenario.opening import SCENARIO
from nona.serverless.chart_data import ServerlessOutcome
from tests.core.filled import but, filled

GONE = {  # places in a scenario, and what stood there
    ("plan", "links"): [{"capacity": "25 Gbit/s", "price": 0.5}],
    ("plan", "prices", "watts"): {"a100-40gb": {"idle": 50, "busy": 300}},
    ("plan", "prices", "co2_kg_per_kwh"): 0.4,
}


@cache
def made(kind):
    """A result of that kind, with all that ever held a key that is gone."""
    if kind == "plan":
        plan = stored_result(PlanOutcome)
        return but(plan, report=but(plan.report, evidence=(filled(PlanSeries),)))
    if kind == "serverless":
        return filled(ServerlessOutcome)
    run = simulated()
    planned = scenario_from_mapping(scenario_to_mapping(run.scenario) | {"plan": {"offers": ["l4"]}})
    return but(run, scenario=planned, live=but(run.live, series={"local": filled(LiveLine)}))


def with_key(data, place, value):
    """Plain data with one more key."""
    changed = json.loads(json.dumps(data))
    at = changed
    for step in place[:-1]:
        at = at.setdefault(step, {}) if isinstance(at, dict) else at[step]
    assert place[-1] not in at
    at[place[-1]] = value
    return changed


@pytest.mark.parametrize(
    ("kind", "place", "value"),
    [
        ("serverless", ("stories",), {"esg": []}),
        ("simulation", ("live", "series", "local", "dropped"), 0),
        ("simulation", ("report", "schedulers", "local", "jobs", "dropped"), 3),
        ("simulation", ("report", "schedulers", "local", "models", "slides_example", "dropped"), 0.25),
        *(("simulation", ("scenario", *place), value) for place, value in GONE.items()),
        ("plan", ("report", "options", 0, "link"), 3.125e9),
        ("plan", ("report", "options", 0, "energy_kwh_per_million"), 1.5),
        ("plan", ("report", "options", 0, "co2_kg_per_million"), None),
        ("plan", ("report", "evidence", 0, "link"), 3.125e9),
    ],
)
def test_a_result_opens_as_what_is_left_of_it(kind, place, value):
    result = made(kind)
    written = json.dumps(with_key(result.to_json(), place, value)).encode()
    assert Contents(kind, b"", written).answer() == result


@pytest.fixture
def scenario():
    return scenario_of(made("plan"))


@pytest.fixture(params=GONE, ids=".".join)
def earlier(request, scenario):
    """The scenario as an earlier version wrote it."""
    return with_key(scenario_to_mapping(scenario), request.param, GONE[request.param])


def test_the_scenario_of_a_result_its_bundle_and_its_link_open(scenario, earlier):
    text, plan = yaml.safe_dump(earlier), made("plan")
    assert scenario_of(but(plan, about=but(plan.about, yaml=text))) == scenario
    bundle = io.BytesIO()
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.writestr(SCENARIO, text)
    assert Contents("plan", bundle.getvalue(), b"").scenario() == scenario
    link = urlsafe_b64encode(compress(json.dumps({"s": earlier}).encode())).rstrip(b"=").decode()
    assert unpack(f"1.{link}").scenario == scenario
    with pytest.raises(ScenarioError, match=r"^plan\.[a-z0-9_.]+: is not a known key; remove it"):
        parse_scenario(text)  # that a person may have written


def test_a_workspace_opens(scenario, earlier, tmp_path):
    store, token = WorkspaceStore(tmp_path), new_token()
    state = AppState()
    store.watch(token, state)
    state.adopt(scenario)
    store.flush()
    file = store.place(token) / FILE
    written = json.loads(file.read_bytes())
    for one in written["scenarios"]:
        one["text"] = {key: value for key, value in earlier.items() if key != "models"}
    file.write_text(json.dumps(written))
    again = WorkspaceStore(tmp_path).load(token)
    assert again.scenario == scenario
    assert again.choices.find(RestoredNotice) is None
