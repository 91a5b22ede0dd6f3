"""The catalogue's schema and sources; users' own devices; executor classes."""

import csv
import math
import pickle
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import HardwareError
from nona.hardware.device import (
    Device,
    attribute_schema,
    devices,
    find_device,
    links,
    source_texts,
    user_devices,
)
from nona.hardware.executor import executor_class, make_executor_class
from nona.hardware.mig import board
from nona.hardware.table_file import parse_table

EXPECTED = "k80 p100 v100 t4 a10 a30 a100-40gb a100-80gb h100 h200 l4 l40s b200"


def rows(name):
    text = files("nona.hardware").joinpath(f"data/{name}").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def test_every_cell_has_a_source_and_says_whether_it_was_checked():
    for row in rows("devices.csv"):
        assert row["attribute"] in attribute_schema(), row
        if row["attribute"] != "label":
            assert row["source"] in source_texts(), row
            assert row["checked"] in {"yes", "recollected"}, row
        expected = attribute_schema()[row["attribute"]]["unit"]
        assert row["unit"] == expected, row
        if expected.endswith("OP/s"):
            assert row["kind"] in {"dense", "sparse"}, row
        if row["attribute"] in {"peer_bandwidth", "host_bandwidth"}:
            assert row["kind"] in {"per-direction", "both-directions"}, row
    assert len({(r["device"], r["attribute"]) for r in rows("devices.csv")}) == len(rows("devices.csv"))
    assert set(EXPECTED.split()) <= set(devices())
    facts = [fact for device in devices().values() for fact in device.facts.values()]
    assert all(fact.checked == "recollected" for fact in facts if "recollected" in fact.source)


def test_direction_flags_count():
    nvlink = next(r for r in rows("links.csv") if r["link"] == "nvlink3")
    assert (nvlink["kind"], float(nvlink["capacity"])) == ("both-directions", 600)
    assert links()["nvlink3"].capacity == 300e9
    assert links()["pcie4"].capacity == 32e9
    assert links()["25gbe"].capacity == 25e9 / 8


def test_peaks_are_dense_and_plausible_and_travel_between_processes():
    for device in devices().values():
        assert pickle.loads(pickle.dumps(device)) == device
        peaks = device.peaks
        assert 1e12 < peaks["fp32"] < 100e12
        if "int8" in peaks and device.name != "v100":  # V100 has int8 only outside its tensor cores
            # A sparse number in place of a dense one, or the reverse, would break the factor of two.
            assert peaks["int8"] / peaks["fp16"] == pytest.approx(2, rel=0.02)
        if "tf32" in peaks:
            assert peaks["fp16"] / peaks["tf32"] == pytest.approx(2, rel=0.03)


def test_stand_in_precision_is_wider():
    v100 = devices()["v100"]
    assert v100.precision_used("fp8") == "fp16"
    assert v100.peak("tf32") == v100.peak("fp32") == 15.7e12


def test_user_device_with_units_and_base():
    mine = {"fp32": "10 TFLOPS", "fp16": 4e13, "memory": "16 GB", "bandwidth": "600 GB/s", "sms": 40}
    pcie = {"base": "a100-80gb", "bandwidth": "1935 GB/s", "compute_efficiency": 0.5}
    own = user_devices({"mine": mine, "pcie": pcie})
    assert own["mine"].peak("fp16") == 4e13
    assert own["mine"].facts["fp16"].checked == "user"
    assert own["pcie"].bandwidth == 1.935e12
    assert own["pcie"].peak("fp16") == devices()["a100-80gb"].peak("fp16")
    assert own["pcie"].mig == "a100-80gb"
    assert find_device("mine", own) is own["mine"]


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ({"fp32": "10 TFLOP/s", "memory": "16 GB"}, "bandwidth must be given"),
        ({"base": "a100-80gb", "bandwith": "1 GB/s"}, "did you mean 'bandwidth'"),
        ({"base": "gtx"}, "not in the catalogue"),
        ({"base": "t4", "fp16": "65"}, "is not a rate"),
        ({"base": "t4", "fp16": "65 TB"}, "is not a rate"),
        ({"base": "t4", "memory": "-1 GB"}, "above 0"),
        ({"base": "t4", "memory": True}, "is not a size"),
        ({"base": "t4", "sms": 1.5}, "whole number"),
        ({"base": "t4", "sms": -3}, "whole number"),
        ({"base": "t4", "compute_efficiency": 1.5}, "at most 1"),
        ({"base": "t4", "mig": "a100-40gb"}, "must be at least 98"),
        ({"base": "t4", "mig": "x1"}, "MIG board 'x1'"),
        ({"base": "t4", "fp16": float("nan")}, "is not a rate"),
        ({"base": "t4", "fp16": "1e999 TFLOP/s"}, "is not a rate"),
        ({"base": "t4", "fp16": "9" * 50_000 + "x"}, "is not a rate"),
        ({"base": "t4", "sms": 10**5_000}, "whole number"),
    ],
)
def test_bad_devices_are_refused_in_one_line(attributes, why):
    with pytest.raises(HardwareError, match=why) as caught:
        user_devices({"own": attributes})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    assert "'own'" in str(caught.value) or "MIG board" in str(caught.value)


@pytest.mark.parametrize("name", ["", "a/b", "*", "a\nb"])
def test_names_that_would_confuse_are_refused(name):
    with pytest.raises(HardwareError, match="rename"):
        Device(name, {"fp32": 1e12}, 1e9, 1e9)


KEYS = st.sampled_from([*attribute_schema(), "other"])
VALUES = st.one_of(st.text(max_size=12), st.floats(), st.integers(), st.none(), st.booleans())


@examples(50)
@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_any_mapping_gives_a_device_or_one_line(attributes):
    problem = ""
    try:
        device = user_devices({"own": attributes})["own"]
    except HardwareError as error:
        problem = str(error)
    assert "\n" not in problem
    assert problem or all(0 < p < math.inf for p in device.peaks.values())


def test_slices_have_their_part_of_the_device():
    a100 = devices()["a100-40gb"]
    small = make_executor_class(a100, "1g.5gb")
    assert small.peak("fp16") == pytest.approx(312e12 * 14 / 108)
    assert small.bandwidth == pytest.approx(1555e9 / 8)
    assert small.memory_bytes == 4.75e9  # 4864 MiB
    seven = make_executor_class(a100, "7g.40gb")
    assert seven.compute_fraction == pytest.approx(98 / 108)
    assert seven.bandwidth_fraction == 1


@pytest.mark.parametrize("device", list(devices()))
def test_names_are_read_back(device):
    found = devices()[device]
    slices = [None] if found.mig is None else [None, *(p.name for p in board(found.mig).profiles)]
    for mig in slices:
        for mps in (None, 1, 2, 6):
            made = make_executor_class(found, mig, mps)
            assert executor_class(made.name) == made
            assert 0 < made.compute_fraction <= 1
            assert made.memory_bytes * made.mps <= found.memory_bytes


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nope", "unknown"),
        ("t4/1g.5gb", "no MIG"),
        ("a100-40gb/9g", "no such profile"),
        ("a100-40gb/mps-1ofx", "whole number"),
        ("a100-40gb/mps-1of0", "from 1 to 48"),
        ("a100-40gb/mps-1of49", "from 1 to 48"),
        ("a100-40gb/1g.5gb/mps-1of7", "from 1 to 6"),
        ("a100-40gb/1g.5gb/2g.10gb", "write DEVICE"),
    ],
)
def test_bad_executor_names(name, why):
    with pytest.raises(HardwareError, match=why):
        executor_class(name)


@pytest.mark.parametrize(
    ("text", "why"), [("", "empty"), ("a,b\n1\n", "row 2"), ("a\n1\n", "column 'c' is missing")]
)
def test_broken_tables_are_refused(text, why):
    with pytest.raises(HardwareError, match=why):
        parse_table(text, "t.csv", ("a", "c") if "column" in why else ())
