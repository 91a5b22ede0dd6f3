"""The versions in ``constraints.txt`` against the list of known security advisories, ``advisories.toml``."""

from __future__ import annotations

import datetime
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
ADVISORIES, CONSTRAINTS = ROOT / "advisories.toml", ROOT / "constraints.txt"
IDENTIFIER = re.compile(r"CVE-\d{4}-\d{4,}|GHSA(-[0-9a-z]{4}){3}|PYSEC-\d{4}-\d+")


@dataclass(frozen=True)
class Advisory:
    """Versions of a package with a known weakness."""

    package: str
    identifier: str
    affected: SpecifierSet
    summary: str


@dataclass(frozen=True)
class Advisories:
    """The list, and when it was renewed."""

    date: datetime.date
    provenance: str
    entries: tuple[Advisory, ...]


def advisories_of(text):
    """Read the list; a ``ValueError`` says what it lacks."""
    data = tomllib.loads(text)
    if type(data.get("date")) is not datetime.date or not data.get("provenance"):
        raise ValueError("advisories.toml: date and provenance must say when and from where it was renewed.")
    entries = tuple(
        Advisory(row["package"], row["identifier"], SpecifierSet(row["affected"]), row["summary"])
        for row in data["advisory"]
    )
    return Advisories(data["date"], data["provenance"], entries)


def pins_of(text):
    """The pinned versions; every line must pin one."""
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    pins = {}
    for requirement in (Requirement(line) for line in lines if line):
        (pin,) = requirement.specifier
        assert pin.operator == "=="
        pins[canonicalize_name(requirement.name)] = Version(pin.version)
    return pins


def affected(pins, entries):
    """A line for each pinned version that an advisory names; pre-releases count."""
    for entry in entries:
        version = pins.get(canonicalize_name(entry.package))
        if version is not None and entry.affected.contains(version, prereleases=True):
            why = f"{entry.identifier} ({entry.summary})"
            yield f"{entry.package}=={version} is affected by {why}; raise the pin"


@pytest.fixture(scope="module")
def listed():
    """The shipped list."""
    return advisories_of(ADVISORIES.read_text(encoding="utf-8"))


def test_no_pinned_version_has_a_known_weakness(listed):
    pins = pins_of(CONSTRAINTS.read_text(encoding="utf-8"))
    assert len(pins) > 50
    assert list(affected(pins, listed.entries)) == []


def test_the_list_is_about_what_is_pinned(listed):
    pins = pins_of(CONSTRAINTS.read_text(encoding="utf-8"))
    for entry in listed.entries:
        assert canonicalize_name(entry.package) in pins, f"{entry.package} is not pinned; remove its entries"
        assert IDENTIFIER.fullmatch(entry.identifier), entry
        assert str(entry.affected), f"{entry.identifier}: no range is every version"
        assert entry.summary
    keys = [(e.package, e.identifier, str(e.affected)) for e in listed.entries]
    assert len(keys) == len(set(keys))
    served = {"streamlit", "tornado", "starlette", "protobuf", "pillow", "pyarrow", "onnx", "pyyaml"}
    assert served <= {e.package for e in listed.entries}, "what reads requests or files is covered"


LIST = """
date = 2026-01-02
provenance = "made up"
[[advisory]]
package = "Some_Package"
identifier = "CVE-2026-00000"
affected = ">=1.2,<1.4.1"
summary = "made up"
"""


@pytest.mark.parametrize(
    ("pin", "found"), [("1.1", 0), ("1.2", 1), ("1.4", 1), ("1.4rc1", 1), ("1.4.1", 0), ("1.10", 0)]
)
def test_an_affected_pin_is_found(pin, found):
    pins = pins_of(f"# versions\nother==1.3\nsome-package=={pin}  # why\n")
    lines = list(affected(pins, advisories_of(LIST).entries))
    assert len(lines) == found
    assert all(f"Some_Package=={pin} is affected by CVE-2026-00000 (made up)" in line for line in lines)


@pytest.mark.parametrize("lost", ["date = 2026-01-02", 'provenance = "made up"'])
def test_a_list_without_date_or_provenance_is_refused(lost):
    with pytest.raises(ValueError, match="when and from where"):
        advisories_of(LIST.replace(lost, ""))
