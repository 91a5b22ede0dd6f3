"""mig-parted files: read back what was written, and hostile ones refused in one line."""

from collections import Counter

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import HardwareError
from nona.hardware.mig import legal_layouts
from nona.hardware.mig_layouts import MOST_BYTES, read_mig_parted, write_mig_parted

LAYOUTS = legal_layouts("a100-40gb", extended=True)


@examples(60)
@given(st.lists(st.sampled_from(LAYOUTS), min_size=1, max_size=4))
def test_round_trip_keeps_the_slices_of_every_layout(chosen):
    named = {f"layout-{i}": layout for i, layout in enumerate(chosen)}
    text = write_mig_parted(named)
    found = read_mig_parted(text.encode(), "a100-40gb")
    assert not found.left_out
    assert list(found.layouts) == list(named)
    for name, layout in named.items():
        assert Counter(found.layouts[name].profiles) == Counter(layout.profiles)


def test_the_file_is_what_mig_parted_reads():
    layout = next(m for m in LAYOUTS if m.text == "3g.20gb, 2g.10gb, 1g.5gb, 1g.5gb")
    plain = yaml.safe_load(write_mig_parted({"balanced": layout}))
    assert plain == {
        "version": "v1",
        "mig-configs": {
            "balanced": [
                {
                    "devices": "all",
                    "mig-enabled": True,
                    "mig-devices": {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1},
                }
            ]
        },
    }


def test_a_file_for_several_boards_gives_what_fits_this_one():
    text = """
version: v1
mig-configs:
  all-disabled: [{devices: all, mig-enabled: false}]
  all-1g.10gb: [{devices: all, mig-enabled: true, mig-devices: {"1g.10gb": 7}}]
  all-balanced:
    - {devices: all, mig-enabled: true, mig-devices: {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}}
    - {devices: all, mig-enabled: true, mig-devices: {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}}
  custom:
    - {devices: [0], mig-enabled: true, mig-devices: {"3g.20gb": 2}}
    - {devices: [1], mig-enabled: true, mig-devices: {"1g.5gb": 7}}
"""
    found = read_mig_parted(text, "a100-40gb")
    assert {n: m.text for n, m in found.layouts.items()} == {
        "all-balanced": "3g.20gb, 2g.10gb, 1g.5gb, 1g.5gb",
        "custom [1]": "3g.20gb, 3g.20gb",
        "custom [2]": ", ".join(["1g.5gb"] * 7),
    }
    assert "at most 4" in found.left_out["all-1g.10gb"]
    assert [c.start for c in read_mig_parted(text, "a100-80gb").layouts["all-1g.10gb"].slices] == list(
        range(7)
    )


def one(entry):
    return f"version: v1\nmig-configs: {{a: [{{{entry}}}]}}\n"


def devices(listed):
    return one(f"mig-enabled: true, mig-devices: {{{listed}}}")


HOSTILE = {
    "aliases": "version: v1\nmig-configs: &a\n  x: [{mig-enabled: true}]\n  y: *a\n",
    "alias": "a: &a [1, 2]\nb: [*a, *a]\nversion: v1\nmig-configs: {}\n",
    "object": "!!python/object/apply:os.system ['echo hi']",
    "not YAML": "version: [v1\nmig-configs",
    "missing": "version: v1\n",
    "must be 'v1'": "version: v9\nmig-configs: {a: []}\n",
    "list of entries": "version: v1\nmig-configs: {a: 5}\n",
    "true or false": one("devices: all"),
    "at least one profile": one("mig-enabled: true"),
    "whole number": devices('"1g.5gb": 1000000000'),
    "is not a profile": devices('"1g.5gb; rm": 1'),
    "no slice '9g.90gb'": devices('"9g.90gb": 1'),
    "it needs 9": devices('"3g.20gb": 2, "1g.5gb": 1'),
    "no configuration enables MIG": one("mig-enabled: false"),
    "nested deeper": "[" * 100_000,
}


@pytest.mark.parametrize("case", HOSTILE, ids=str)
def test_hostile_files_are_refused_in_one_line(case):
    with pytest.raises(HardwareError) as caught:
        read_mig_parted(HOSTILE[case], "a100-40gb")
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    if case not in ("object", "aliases"):
        assert case in message


@pytest.mark.parametrize(
    ("data", "why"),
    [(b"x" * (MOST_BYTES + 1), "more than"), (b"\xff\xfe\x00", "UTF-8"), (b"", "mig-configs")],
)
def test_bytes_that_are_no_text_or_too_many(data, why):
    with pytest.raises(HardwareError, match=why):
        read_mig_parted(data, "a100-40gb")


def refusal(text):
    try:
        read_mig_parted(text, "a30")
    except HardwareError as error:
        return str(error)
    return ""


@examples(120)
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_with_one_line(text):
    for given_text in (text, f"version: v1\nmig-configs: {text}"):
        assert len(refusal(given_text).splitlines()) <= 1


def test_names_and_empty_layouts_are_checked_on_writing():
    with pytest.raises(HardwareError, match="rename it"):
        write_mig_parted({"a\nb": LAYOUTS[0]})
