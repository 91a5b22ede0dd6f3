"""Servers whose GPUs are divided differently are what the same GPUs are in groups of their own."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from sizes import examples

from nona.cli.main import main
from nona.cluster.hardware import mig
from nona.cluster.hardware.cluster import Cluster, ServerGroup
from nona.cluster.hardware.mig import layout_words
from nona.core.errors import HardwareError, ScenarioError
from nona.planning.question import question_of
from nona.planning.servers import cluster_price
from nona.queries.report.clusters import background_load, cluster_map
from nona.queries.report.scenario_diff import scenario_changes
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.simulation import simulate
from nona.queries.workflows.stage_layouts import APART, stage_layouts
from nona.scenario.cluster import ServerGroupSpec
from nona.scenario.file import dump_scenario, parse_scenario
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario
from tests.queries.test_pools import chain

BOARD = "a100-40gb"
LAYOUTS = [None, *sorted({layout.text for layout in mig.legal_layouts(BOARD)})]
layouts_of_gpus = st.lists(st.sampled_from(LAYOUTS), min_size=1, max_size=4)


def scenario(servers, schedulers=("least-loaded",), **parts):
    data = {
        "cluster": {"servers": servers, "network": {"capacity": "400 Gbit/s", "latency": 0}},
        "workload": [{"model": "m", "rate": "300/s", "slo": "30 ms"}],
        "models": {"m": {"directed": True, "nodes": [{"id": "a", "compute_ms": {BOARD: 4.0}}], "edges": []}},
        "simulation": {"jobs": 800, "replications": 1, "warmup": 100},
        "schedulers": list(schedulers),
    }
    return Scenario.model_validate(data | parts)


def one_each(layouts, **more):
    return [{"gpu": BOARD, "mig": layout, **more} for layout in layouts]


def mixed(layouts, **more):
    return [{"gpu": BOARD, "gpus": len(layouts), "mig": [of or mig.WHOLE for of in layouts], **more}]


@examples(40)
@given(layouts_of_gpus, st.integers(1, 3))
def test_executors_and_prices_are_those_of_the_gpus(layouts, count):
    together = scenario(mixed(layouts, count=count))
    apart = scenario(one_each(layouts, count=count))
    one, other = together.cluster.build(), apart.cluster.build()
    of = Counter(e.executor_class for e in one.executors)
    assert of == Counter(e.executor_class for e in other.executors)
    assert one.servers == count
    by_gpu = Counter((e.server, e.gpu) for e in one.executors)
    for server in range(count):
        for gpu, layout in enumerate(layouts):
            assert by_gpu[server, gpu] == (len(mig.parse_layout(layout, BOARD).slices) if layout else 1)
    assert cluster_price(together) == pytest.approx(cluster_price(apart))
    drawn = cluster_map(one, background_load(one, 0.25, 0.0))
    assert drawn.executors == len(one.executors)
    assert [len(gpu) for gpu in drawn.units[0].servers[0].gpus] == [by_gpu[0, g] for g in range(len(layouts))]


@examples(60)
@given(layouts_of_gpus)
def test_layouts_come_back_from_their_text_and_from_a_file(layouts):
    text = mig.layouts_text(layouts)
    assert mig.gpu_layouts(text, len(layouts)) == tuple(layouts)
    whole = scenario(mixed(layouts))
    (group,) = whole.cluster.servers
    assert group.mig == text
    assert group.layouts == tuple(layouts)
    assert parse_scenario(dump_scenario(whole)) == whole


@pytest.mark.parametrize("scheduler", ["least-loaded", "opportunistic", "spark-fifo", "jsq-d", "random"])
@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_jobs_on_one_executor_take_the_same_times(scheduler, engine):
    layouts = ["3g.20gb, 2g.10gb, 1g.5gb", None, "1g.5gb × 7"]
    records = [
        simulate(prepare(scenario(servers, [scheduler])), engine=engine).records[scheduler][0]
        for servers in (mixed(layouts), one_each(layouts))
    ]
    assert (records[0].completion_s == records[1].completion_s).all()
    assert (records[0].executor_busy_s == records[1].executor_busy_s).all()


def test_what_cannot_be_names_gpu_value_and_remedy():
    with pytest.raises(ValidationError, match=r"2 for 3 GPUs of a server; give one for each"):
        ServerGroupSpec(gpus=3, mig=["whole", "3g.20gb"])
    with pytest.raises(
        ValidationError, match=r"'3g\.20gb \| whole' divides a GPU, but an engine takes whole"
    ):
        ServerGroupSpec(gpus=2, mig=["3g.20gb", "whole"], engine={})
    with pytest.raises(ValidationError, match=r"a list has a text for each GPU"):
        ServerGroupSpec(gpus=2, mig=["3g.20gb", 7])
    with pytest.raises(HardwareError, match=r"^GPU 1: MIG layout '9g\.1gb': .* has no slice .* use 1g\.5gb"):
        Cluster((ServerGroup(gpus=2, mig="whole | 9g.1gb"),))
    with pytest.raises(HardwareError, match=r"2 for 1 GPU of a server;"):
        Cluster((ServerGroup(gpus=1, mig="whole | 3g.20gb"),))


def test_changes_of_one_gpu_are_told():
    before, after = (scenario(mixed(of)) for of in (["3g.20gb", None], ["3g.20gb", "1g.5gb × 7"]))
    assert scenario_changes(before, after) == ["MIG 1 in 3g.20gb, 1 whole → 1 in 3g.20gb, 1 in 7 × 1g.5gb"]
    moved = scenario(mixed([None, "3g.20gb"]))
    assert scenario_changes(before, moved) == ["MIG 1 in 3g.20gb, 1 whole → 1 whole, 1 in 3g.20gb"]


def test_a_plan_buys_servers_divided_so():
    plan = {"offers": [{"gpu": BOARD, "gpus": 2, "mig": ["3g+2g+2g", "whole"], "price": 1.5}]}
    (offer,) = question_of(scenario(one_each([None]), plan=plan), Sources()).offers
    assert offer.text == "a100-40gb (1 in 3g.20gb + 2 × 2g.10gb, 1 whole)"
    assert offer.price == 3.0
    with pytest.raises(
        ScenarioError, match=r"^plan\.offers\[0\]: MIG layouts '3g\|whole': 2 for 1 GPU of a server;"
    ):
        parse_scenario("{cluster: {servers: [{}]}, plan: {offers: ['a100-40gb:3g|whole']}}")


@examples(25)
@given(
    st.lists(st.floats(1, 20).map(lambda t: round(t, 1)), min_size=2, max_size=3), st.permutations(range(3))
)
def test_stages_stay_on_the_gpus_that_they_were_given(times_ms, order):
    kinds = [None, "3g.20gb, 3g.20gb", "1g.5gb × 7"]
    names = "abc"[: len(times_ms)]
    stages = {name: {"instances": [{"group": 0}]} for name in names}
    row = {"model": "m", "concurrency": 16, "stages": stages}
    servers = mixed([kinds[k] for k in order], count=2)
    whole = scenario(servers, workload=[row], models={"m": chain(*times_ms)})
    prepared = prepare(whole)
    for layout in stage_layouts(prepared, 0):
        again = Scenario.model_validate(layout.scenario.model_dump(mode="json"))
        assert again == layout.scenario
        assert all(group.layouts == whole.cluster.servers[0].layouts for group in again.cluster.servers)
        assert {kind for gpus in layout.gpus for kind in [gpus.kind]} <= {
            BOARD if kind is None else f"{BOARD} in {layout_words(kind)}" for kind in kinds
        }
        assert sum(gpus.gpus for gpus in layout.gpus) in (0, 6)
        stages_on = [set(gpus.instances) for gpus in layout.gpus]
        assert not layout.gpus or set().union(*stages_on) == set(names)


def test_the_busiest_stage_gets_the_first_gpu_by_its_number():
    row = {
        "model": "m",
        "concurrency": 16,
        "stages": {"a": {"instances": [{"group": 0}]}, "b": {"instances": [{}]}},
    }
    whole = scenario(mixed(["1g.5gb × 7", None]), workload=[row], models={"m": chain(1.0, 20.0)})
    apart = next(of for of in stage_layouts(prepare(whole), 0) if of.title == APART)
    stages = apart.scenario.workload[0].stages
    assert {name: stages[name].instances[0].gpus for name in "ab"} == {"a": (1,), "b": (0,)}


def test_commands_warn_of_mps_on_slices(tmp_path, capsys):
    assert "refuses MPS on devices with MIG" in answer_of(
        capsys, "inspect", "alexnet", "--device", f"{BOARD}/3g.20gb/mps-1of2"
    )
    assert "refuses MPS" not in answer_of(capsys, "inspect", "alexnet", "--device", f"{BOARD}/3g.20gb")
    path = tmp_path / "s.yaml"
    for layouts, warns in (([None, "3g.20gb"], True), ([None, None], False)):
        path.write_text(dump_scenario(scenario(mixed(layouts, mps=2))))
        assert ("refuses MPS on devices with MIG" in answer_of(capsys, "simulate", str(path))) == warns


def answer_of(capsys, *words):
    assert main([*words]) == 0
    said = capsys.readouterr()
    return said.out + said.err
