"""``nona serverless`` as others call it: JSON alone on standard output, one line for what is wrong."""

import pytest
from calling import answer

from nona.cli.serverless import with_times
from nona.scenario.file import load_scenario
from nona.scenario.sample_files import scenario_path
from nona.serverless.functions import shipped_function

FIXED = ("--policy", "fixed", "--calls", "40", "--replications", "1")


def test_a_report_has_the_agreed_shape_and_is_the_same_again(capsys):
    policies = ("--policy", "esg", "--policy", "orion")
    chosen = ("serverless", "strict_light", *policies, "--calls", "120", "--replications", "2")
    report = answer(capsys, *chosen)
    assert set(report["policies"]) == {"esg", "orion"}
    assert report["checks"]
    assert all(report["checks"].values()), report["failed_checks"]
    for policy in report["policies"].values():
        calls = policy["calls"]
        assert calls["arrived"] == 240 == calls["completed"] + calls["in_flight"]
        low, high = policy["slo_hit_rate"]["ci95"]
        assert low <= policy["slo_hit_rate"]["mean"] <= high
        assert sum(a["calls"] for a in policy["applications"].values()) == 240
        for application in policy["applications"].values():
            spread = [application["latency_s"][f"p{p}"] for p in (5, 25, 50, 75, 95, 99)]
            assert spread == sorted(spread)
        assert policy["cost_per_hit_usd"]["mean"] >= policy["cost_per_call_usd"]["mean"]
        assert 0 < policy["utilization"]["vgpu"] < 1
    assert report["policies"]["esg"]["configuration_miss_rate"] is None  # it plans nothing ahead
    assert report["policies"]["orion"]["configuration_miss_rate"] is not None
    assert report["oracle"]["cost_per_call_usd"] > 0
    assert report["setting"]["nodes"] == 16
    assert {**answer(capsys, *chosen), "seconds": 0} == {**report, "seconds": 0}
    assert answer(capsys, *chosen, "--seed", "5")["policies"] != report["policies"]


def test_ways_of_sharing_stand_side_by_side(capsys):
    chosen = ("serverless", "mig_or_mps", *FIXED)
    modes = ("--sharing", "mig-counter", "--sharing", "time-slicing")
    found = answer(capsys, *chosen, *modes)["sharing"]
    assert list(found) == ["mig-counter", "time-slicing"]
    means = [r["policies"]["fixed"]["latency_s"]["mean"] for r in found.values()]
    assert means[0] != means[1]  # who is alone has the whole GPU; which is faster depends on the load
    assert found["time-slicing"]["setting"]["sharing"] == "time-slicing"


def test_nodes_that_keep_a_share_of_the_slos(capsys):
    chosen = ("serverless", "serverless_nodes", "--policy", "fast-gshare", "--nodes-for", "50%")
    found = answer(capsys, *chosen, "--calls", "150", "--replications", "2")
    rows = {t["nodes"]: t for t in found["policies"]["fast-gshare"]["tried"]}
    least = found["policies"]["fast-gshare"]["found"]["nodes"]
    assert rows[least]["verdict"] == "keeps"
    assert rows[least]["slo_hit_rate"]["mean"] > 0.5
    assert all(t["verdict"] != "keeps" for n, t in rows.items() if n < least)
    per_node = 16 * 0.034 + 7 * 0.67
    assert [t["usd_hour"] for t in rows.values()] == pytest.approx([n * per_node for n in rows])
    assert all(0 < t["held_usd_hour"] <= t["usd_hour"] * (1 + 1e-9) for t in rows.values())


def test_times_of_a_network_and_of_a_file_leave_the_cold_start_and_the_input(capsys, tmp_path):
    changed = with_times(load_scenario(scenario_path("strict_light")), [("deblur", "vgg16")])
    spec, shipped = changed.serverless.functions["deblur"], shipped_function("deblur")
    assert (spec.network, spec.cold_start, spec.input) == ("vgg16", shipped.cold_start_s, shipped.input_bytes)
    small = ("serverless", "strict_light", *FIXED)
    (tmp_path / "t.csv").write_text("batch,ms\n1,5\n16,50\n")
    own = answer(capsys, *small)
    given = ("--times", "deblur=vgg16", "--times", f"depth_recognition={tmp_path / 't.csv'}")
    fast = answer(capsys, *small, *given)
    before, after = (r["policies"]["fixed"]["applications"]["depth_recognition"] for r in (own, fast))
    assert after["latency_s"]["mean"] < 0.5 * before["latency_s"]["mean"], "319 + 828 ms became 8 + 5"
