"""A new thing is one object and its registration: a scenario, the command line and the app know it then.

Each kind of thing gets one that is made here, in this file alone, and that is gone after its test.
"""

from __future__ import annotations

import csv
import io
import json
from typing import Any, NamedTuple

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from nona.app.jobs.kinds import KINDS
from nona.app.models.loading import device_names
from nona.app.pages.models.page import upload_label
from nona.app.tasks.context import JobContext
from nona.app.tasks.worker_loop import run_task
from nona.cli.main import main
from nona.cluster.hardware.device import devices
from nona.cluster.sharing.pool import Gpu, GpuPart, SharingMode
from nona.cluster.sharing.registry import SHARING_MODES
from nona.core.document import Document
from nona.core.errors import NonaError
from nona.core.family import TaskKind
from nona.core.figures import scheduler_style
from nona.core.registry import ChartStyle, Registry
from nona.models.contraction.rules import RULES, ContractionRule
from nona.models.graph.readers import reader_for
from nona.models.graph.registry import READERS, Reader
from nona.queries.schedulers.base import NetworkView, Scheduler, SchedulerTables
from nona.queries.schedulers.registry import SCHEDULERS
from nona.scenario import words as schema_words
from nona.scenario.file import dump_scenario, load_scenario, parse_scenario
from nona.scenario.sample_files import scenario_path
from nona.serverless.policies.base import BatchPlan, ConfigurationPolicy, Place
from nona.serverless.policies.registry import POLICIES
from nona.serverless.report.figures import way_title
from nona.serverless.workflows.comparisons import ways_for

ALL: tuple[Registry[Any], ...] = (RULES, SCHEDULERS, POLICIES, SHARING_MODES, READERS, KINDS)
MODE = ("serverless", "sharing", "mode")
PINK = ChartStyle("#d0388a", "dash", "star-square")


@pytest.fixture(autouse=True)
def nothing_stays():
    """Whatever a test registers is gone after it."""
    before = [list(registry.items()) for registry in ALL]
    yield
    assert [list(registry.items()) for registry in ALL] == before


# A contraction rule: no edge is contracted.
def merge_nothing(merging):
    """Every operator stays a task."""


APART = ContractionRule("apart", "a → b is never contracted.", "This test", merge_nothing)


# A scheduler: everything on the first executor.
class NoTables(NamedTuple):
    """Nothing to look up; a table that is not empty, so that it has a type."""

    none: np.ndarray


def decide_first(now, query, view, tables, u, out):
    """Executor 0 for every task."""
    for i in range(len(out)):
        out[i] = 0


FIRST = Scheduler(
    name="first",
    kind="bind",
    network_view=NetworkView.N0,
    summary="Runs every task on the first executor.",
    source="This test",
    adaptation="",
    decide=decide_first,
    build=lambda system, placement, options: SchedulerTables(NoTables(np.zeros(1)), 0),
    style=PINK,
)


# A policy: always the smallest configuration.
class SmallestPlanner:
    """One job at a time, on as little as there is."""

    place: Place | None = None

    def plan(self, ask):
        return BatchPlan((0,))


SMALLEST = ConfigurationPolicy(
    name="smallest",
    title="Smallest",
    summary="One job, as small as can be.",
    source="This test",
    adaptation="",
    build=lambda system, options: SmallestPlanner(),
    style=PINK,
)


# A way of sharing: one batch on a GPU at a time.
class OneAtATime(Gpu):
    """A GPU that nobody holds takes a batch of any size; a state is how many vGPUs are held."""

    empty = 0

    def __init__(self, invoker, settings):
        self.whole = self.vgpus = invoker.vgpus

    def part(self, state, vgpus):
        return None if state or vgpus > self.whole else GpuPart(vgpus, vgpus)

    def release(self, state, key):
        return 0

    def free(self, state):
        return self.whole - state

    def stranded(self, state):
        return self.free(state) if state else 0

    def why_not(self, states, vgpus):
        return "every GPU has a batch"


ALONE = SharingMode("alone", "one at a time", "a batch has the GPU to itself", OneAtATime, PINK)


# A reader: a line "source,target,bytes" for every edge; every operator takes a millisecond.
def read_document(data, filename, symbols):
    rows = list(csv.reader(io.StringIO(data.decode())))
    names = dict.fromkeys(name for row in rows for name in row[:2])
    return {
        "nodes": [{"id": name, "compute_ms": 1.0} for name in names],
        "edges": [{"source": a, "target": b, "bytes": float(size)} for a, b, size in rows],
    }


EDGES = Reader("edges", (".edges",), False, __name__, "edge list")

SCENARIO = """
version: 1
cluster:
  servers: [{count: 2, gpu: dream}]
  devices: {dream: {base: a100-40gb, memory: 96 GB}}
workload: [{model: MODEL, rate: 50/s}]
contraction: apart
schedulers: [first, local]
simulation: {jobs: 40, replications: 1, warmup: 0}
"""


def run(capsys, *arguments):
    status = main([*arguments, "--json"])
    captured = capsys.readouterr()
    assert status == 0, captured.err
    return json.loads(captured.out)


def refused(capsys, *arguments):
    assert main([*arguments, "--json"]) != 0
    return capsys.readouterr().err.strip().splitlines()[-1]  # the app's own logging may come before it


def test_a_scenario_of_new_things_is_simulated(tmp_path, capsys):
    """A reader, a rule, a device and a scheduler, all in one file."""
    (tmp_path / "net.edges").write_text("a,b,8\nb,c,8\n")
    file = tmp_path / "new.yaml"
    file.write_text(SCENARIO.replace("MODEL", "net.edges"))
    words = ("simulate", str(file), "--engine", "simpy")
    with RULES.registered(APART), SCHEDULERS.registered(FIRST), READERS.registered(EDGES):
        assert parse_scenario(dump_scenario(load_scenario(file))) == load_scenario(file)
        found = run(capsys, *words)
        assert list(found["schedulers"]) == ["first", "local"]
        assert found["schedulers"]["first"]["jct_s"]["mean"] >= 3e-3
        contracted = run(capsys, "contract", str(tmp_path / "net.edges"), "--rule", "apart")
        assert contracted["tasks"] == contracted["operators"] == 3
        assert tuple(RULES)[-1] == "apart"
        assert device_names(load_scenario(file)) == (*devices(), "dream")
        assert reader_for("net.EDGES") is EDGES
        assert "edge list (" in upload_label()
        assert ".edges)" in upload_label()
    assert "edge list" not in upload_label()
    with pytest.raises(NonaError, match=r"\.edges"):
        reader_for("net.edges")
    assert "dream" not in devices()
    assert "'apart' must be 'direct', 'poset' or 'size-aware'" in refused(capsys, *words)


def pick_schedulers_page():
    from nona.app.pages.queries.simulation import pick_schedulers
    from nona.app.session.state import AppState

    pick_schedulers(AppState())


def options(page):
    at = AppTest.from_function(page, default_timeout=300).run()
    assert not at.exception
    sent = [json.loads(c.proto.json) for c in at.get("bidi_component")]
    listed = [entry["name"] for data in sent for entry in data.get("entries", ())]
    return [*(o for w in (*at.multiselect, *at.selectbox) for o in w.options), *listed]


def test_a_scheduler_is_a_choice_and_has_its_look(capsys):
    spare = scheduler_style("first")
    with SCHEDULERS.registered(FIRST):
        assert "first" in options(pick_schedulers_page)
        assert "first" in [row["name"] for row in run(capsys, "schedulers")["schedulers"]]
        assert scheduler_style("first") == PINK != spare
    assert scheduler_style("first") == spare
    assert "first" not in options(pick_schedulers_page)


def serverless_page():
    from nona.app.pages.serverless.form import controls
    from nona.app.session.state import AppState
    from nona.scenario.file import load_scenario
    from nona.scenario.sample_files import scenario_path

    state = AppState(load_scenario(scenario_path("strict_light")))
    controls(state)


def test_a_policy_and_a_way_of_sharing_are_run_and_compared(capsys):
    words = ("serverless", "strict_light", "--policy", "smallest", "--calls", "60", "--replications", "1")
    ways = ("--sharing", "alone", "--sharing", "mig-counter")
    with POLICIES.registered(SMALLEST), SHARING_MODES.registered(ALONE):
        found = run(capsys, *words, *ways)["sharing"]
        assert list(found) == ["alone", "mig-counter"]
        text = dump_scenario(load_scenario(scenario_path("strict_light")))
        own = parse_scenario(text.replace("serverless:\n", "serverless:\n  sharing: {mode: alone}\n"))
        assert parse_scenario(dump_scenario(own)).serverless.sharing.mode == "alone"
        for report in found.values():
            assert all(report["checks"].values()), report["failed_checks"]
            assert report["policies"]["smallest"]["mean_batch"] == 1.0
        shown = options(serverless_page)
        assert "smallest" in shown
        assert ALONE.title in shown
        assert schema_words.words(MODE).choices["alone"] == ALONE.title
        assert ways_for()[-1] == "alone"
        assert way_title("alone") == ALONE.title
        assert scheduler_style("smallest") == scheduler_style(ALONE.title) == PINK
    line = refused(capsys, "serverless", "strict_light", "--sharing", "alone")
    assert f"serverless.sharing.mode (GPU sharing): 'alone' must be '{next(iter(SHARING_MODES))}'" in line
    assert "alone" not in schema_words.words(MODE).choices
    assert "smallest" in refused(capsys, *words)


class Echo(Document):
    said: str


def echo(spec, desk) -> Echo:
    """The task of a page: what it was told."""
    return Echo(said=spec["say"])


def test_a_task_of_a_page_is_run():
    desk = JobContext(lambda message: None)
    with KINDS.registered(TaskKind("echo", "echo", (), f"{__name__}:echo")):
        told = run_task({"kind": "echo", "say": "hello"}, desk)
        assert told == {"said": "hello"}
        assert KINDS.find("echo").read(told) == Echo(said="hello")
    with pytest.raises(NonaError, match=f"'echo' is not known; choose from {', '.join(KINDS)}"):
        run_task({"kind": "echo", "say": "hello"}, desk)


@pytest.mark.parametrize("registry", ALL, ids=lambda r: type(next(iter(r.values()))).__name__)
def test_a_name_is_taken_once_and_an_unknown_one_is_told(registry):
    shipped = next(iter(registry.values()))
    with pytest.raises(NonaError, match="the name is taken"):
        registry.register(shipped)
    with pytest.raises(NonaError, match=f"'nobody' is not known; choose from {', '.join(registry)}"):
        registry.find("nobody")
    with pytest.raises(NonaError, match="not known"):
        registry.unregister("nobody")


def test_what_was_registered_goes_when_the_block_breaks():
    with pytest.raises(NonaError, match="taken"), RULES.registered(APART, APART):
        pytest.fail("the second one must be refused")
    with pytest.raises(ZeroDivisionError), RULES.registered(APART):
        raise ZeroDivisionError
    assert "apart" not in RULES
