"""The versions in ``constraints.txt`` against the list of known security advisories, ``advisories.toml``."""

import datetime
import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
LIST = tomllib.loads((ROOT / "advisories.toml").read_text(encoding="utf-8"))
ADVISORIES = LIST["advisory"]
IDENTIFIER = re.compile(r"CVE-\d{4}-\d{4,}|GHSA(-[0-9a-z]{4}){3}|PYSEC-\d{4}-\d+")


def pins_of(text):
    """The pinned versions; every line must pin one."""
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    pins = {}
    for requirement in (Requirement(line) for line in lines if line):
        (pin,) = requirement.specifier
        assert pin.operator == "=="
        pins[canonicalize_name(requirement.name)] = Version(pin.version)
    return pins


def affected(pins, advisories):
    """The identifiers of advisories that name a pinned version; pre-releases count."""
    for row in advisories:
        version = pins.get(canonicalize_name(row["package"]))
        if version is not None and SpecifierSet(row["affected"]).contains(version, prereleases=True):
            yield f"{row['package']}=={version}: {row['identifier']} ({row['summary']}); raise the pin"


PINS = pins_of((ROOT / "constraints.txt").read_text(encoding="utf-8"))


def test_no_pinned_version_has_a_known_weakness():
    assert len(PINS) > 50
    assert list(affected(PINS, ADVISORIES)) == []


def test_the_list_is_about_what_is_pinned_and_says_when_and_from_where_it_was_renewed():
    assert type(LIST["date"]) is datetime.date
    assert LIST["provenance"]
    for row in ADVISORIES:
        assert canonicalize_name(row["package"]) in PINS, (
            f"{row['package']} is not pinned; remove its entries"
        )
        assert IDENTIFIER.fullmatch(row["identifier"]), row
        assert str(SpecifierSet(row["affected"])), f"{row['identifier']}: no range is every version"
        assert row["summary"]
    keys = [(row["package"], row["identifier"], row["affected"]) for row in ADVISORIES]
    assert len(keys) == len(set(keys))
    served = {"streamlit", "tornado", "starlette", "protobuf", "pillow", "pyarrow", "onnx", "pyyaml"}
    assert served <= {row["package"] for row in ADVISORIES}, "what reads requests or files is covered"
