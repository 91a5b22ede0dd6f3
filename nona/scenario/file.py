"""Scenario files, YAML or JSON: read, checked, written, hashed."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import ValidationError
from pydantic_core.core_schema import ErrorType

from nona.core.errors import ScenarioError
from nona.core.foreign import MOST_BUNDLE_BYTES, read_file
from nona.core.units import quantity_text
from nona.scenario.gate import (
    MAX_INTEGER,
    MAX_PROBLEMS,
    Place,
    bounded,
    foreign_values,
    load_yaml,
    place_text,
    shown,
)
from nona.scenario.language import moved_together, written_place
from nona.scenario.schema import Scenario
from nona.scenario.values import ScenarioPart
from nona.scenario.words import words

P = TypeVar("P", bound=ScenarioPart)
Check = Callable[[Mapping[str, Any], Sequence[str]], Sequence[str]]
"""Further problems of what a scenario file holds, given those that are known."""

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")
_FOREIGN: tuple[tuple[bytes, str], ...] = (
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive that this program did not write"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"\xd0\xcf\x11\xe0", "an office document"),
    (b"<!DOCTYPE", "a web page"),
    (b"<html", "a web page"),
)
_ERRORS = frozenset(get_args(ErrorType))
_GONE: tuple[tuple[str, ...], ...] = (
    ("plan", "links"),
    ("plan", "prices", "watts"),
    ("plan", "prices", "co2_kg_per_kwh"),
)
"""Keys that earlier versions had."""


def _nothing_more(data: Mapping[str, Any], problems: Sequence[str]) -> Sequence[str]:
    return ()


def parse_scenario(text: str, check: Check = _nothing_more) -> Scenario:
    """Read a scenario from YAML or JSON text.

    Parameters
    ----------
    text : str
        The file's content.
    check : callable, optional
        Gets the parsed content and the problems so far; returns further problems.

    Returns
    -------
    Scenario
        The validated scenario, in SI units.

    Raises
    ------
    ScenarioError
        With all problems at once: place, value, rule and remedy of each.

    Examples
    --------
    >>> parse_scenario("{version: 1, cluster: {servers: []}, workload: [{model: gpt2, rate: 5 apples}]}")
    Traceback (most recent call last):
    nona.core.errors.ScenarioError: cluster.servers: [] must have at least 1 entry; add one. | \
workload[0].rate: '5 apples' is not a rate; write for example '300/s', or a number per second.
    """
    return scenario_from_mapping(load_yaml(text), check)


def scenario_from_mapping(data: object, check: Check = _nothing_more) -> Scenario:
    """Validate a scenario given as plain mappings and lists; ``check`` as for :func:`parse_scenario`."""
    if not isinstance(data, Mapping):
        raise ScenarioError(
            [f"Scenario: it is {shown(data)}, not a mapping; start the file with 'version: 1'."]
        )
    if "nodes" in data and "cluster" not in data:
        raise ScenarioError(["Scenario: it is the graph of a model; name its file in a row of the workload."])
    if foreign := foreign_values(data):
        raise ScenarioError(bounded(foreign))
    scenario: Scenario | None = None
    problems: list[str] = []
    more = 0
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        problems, more = _problems(error, data)
    problems += check(data, problems)
    if scenario is None or problems:
        raise ScenarioError(bounded(sorted(problems, key=_part), more)) from None
    return scenario


def written_scenario(data: object, check: Check = _nothing_more) -> Scenario:
    """Validate a scenario that this program, perhaps an earlier version, wrote."""
    return scenario_from_mapping(without_gone(data), check)


def without_gone(data: object) -> object:
    """Return what an earlier version wrote of a scenario, without the keys that are gone.

    A file that a person writes is not read so: there they are refused as any unknown key is.

    >>> without_gone({"plan": {"links": ["25 Gbit/s"], "hit": 0.9}})
    {'plan': {'hit': 0.9}}
    """
    for place in _GONE:
        data = _without_key(data, place)
    return data


def _without_key(data: object, place: Sequence[str]) -> object:
    first, *rest = place
    if not isinstance(data, Mapping) or first not in data:
        return data
    if rest:
        return {**data, first: _without_key(data[first], rest)}
    return {key: value for key, value in data.items() if key != first}


def _problems(
    error: ValidationError, data: object, whole: type[ScenarioPart] = Scenario, what: str = "Scenario"
) -> tuple[list[str], int]:
    """Return the first problems that the schema finds, a line each, and how many there are besides."""
    errors = [e for e in error.errors(include_url=False) if not _only_follows(e)]
    return [_problem(e, data, whole, what) for e in errors[:MAX_PROBLEMS]], max(0, len(errors) - MAX_PROBLEMS)


def _part(problem: str) -> int:
    """Return the rank in the schema of the part of the scenario that a problem begins with."""
    name = re.split(r"[.:\[ ]", problem, maxsplit=1)[0]
    names = list(Scenario.model_fields)
    return names.index(name) if name in names else len(names)


def load_scenario(path: Path) -> Scenario:
    """Read the scenario file at ``path``.

    Parameters
    ----------
    path : Path
        A YAML or JSON file.

    Returns
    -------
    Scenario
        The validated scenario, in SI units.

    Raises
    ------
    ScenarioError
        With all problems at once: place, value, rule and remedy of each.
    """
    return parse_scenario(scenario_text(read_scenario_bytes(path), str(path)))


def read_scenario_bytes(path: Path) -> bytes:
    """Read the file at ``path``, a text or a bundle."""
    what = f"Scenario {str(path)!r}"
    try:
        return read_file(path, what, MOST_BUNDLE_BYTES, lambda text: ScenarioError([text]))
    except FileNotFoundError as error:
        raise ScenarioError([f"{what}: {error.strerror}; check the path."]) from None


def scenario_text(data: bytes, name: str, what: str = "Scenario") -> str:
    """Return the text of a file called ``name``; one plain line where it holds something else.

    >>> scenario_text(b"%PDF-1.7", "plan.pdf")
    Traceback (most recent call last):
    nona.core.errors.ScenarioError: Scenario 'plan.pdf': it is a PDF document; give a YAML, JSON or \
.nona.zip file.
    """
    fault = next((what for magic, what in _FOREIGN if data.startswith(magic)), "")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text, fault = "", fault or "not text in UTF-8"
    if not fault and _CONTROL.search(text):
        fault = "not a text file"
    if not fault and not text.strip():
        fault = "empty"
    if fault:
        kinds = "YAML, JSON or .nona.zip" if what == "Scenario" else "YAML or JSON"
        raise ScenarioError([f"{what} {name!r}: it is {fault}; give a {kinds} file."])
    return text


def scenario_to_mapping(scenario: Scenario) -> dict[str, Any]:
    """Plain mappings with quantities as strings with units; what equals its default is left out."""
    data: dict[str, Any] = {"version": scenario.version}
    data |= scenario.model_dump(mode="json", exclude_defaults=True)
    return moved_together(data)


def dump_scenario(scenario: Scenario) -> str:
    """Return the scenario as YAML; :func:`parse_scenario` gives the equal scenario back."""
    return yaml.safe_dump(scenario_to_mapping(scenario), sort_keys=False, allow_unicode=True, width=100)


def scenario_hash(scenario: Scenario, *parts: str) -> str:
    """Fingerprint of the scenario, or of its named top-level ``parts`` only (12 hex digits).

    Results carry it, so that an old result is not mistaken for that of an edited scenario.
    """
    chosen = scenario.model_dump(mode="json", include=set(parts) or None)
    return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()[:12]


def parse_part(text: str, kind: type[P], what: str) -> P:
    """Read a file of another ``kind`` than a scenario, called ``what`` in errors; all problems at once."""
    data = load_yaml(text, what)
    if not isinstance(data, Mapping):
        raise ScenarioError([f"{what}: it is {shown(data)}, not a mapping; write keys with values."])
    if foreign := foreign_values(data):
        raise ScenarioError(bounded(foreign))
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise ScenarioError(bounded(*_problems(error, data, kind, what))) from None


def _only_follows(error: Any) -> bool:
    """Return whether "too short" is reported only because entries of the list are themselves wrong."""
    return bool(error["type"] == "too_short" and len(error["input"]) >= error["ctx"]["min_length"])


def _number(value: object) -> str:
    """Return a number as people write it, 1,000,000,000 for 1e9; other values as errors show them."""
    plain = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_INTEGER
    return f"{value:,.12g}" if plain else shown(value)


def _named(location: Place, data: object, whole: type[ScenarioPart], what: str) -> str:
    """Return a place as errors write it, with the title of its field where that says more than its key."""
    place = place_text(written_place(location, data) if whole is Scenario else location, what)
    try:
        title = words(location, whole).title
    except KeyError:
        return place
    key = str(location[-1]).replace("_", " ")
    return place if isinstance(location[-1], int) or key in title.casefold() else f"{place} ({title})"


def _limit(limit: object, location: Place, whole: type[ScenarioPart]) -> str:
    """Return a bound as people write it, with the unit that a file gives it."""
    text = _number(limit)
    try:
        dimension = words(location, whole).dimension
    except KeyError:
        return text
    if dimension == "fraction" and limit == 1:
        return f"{text} (100 %)"
    if dimension is None or not isinstance(limit, int | float) or not limit:
        return text
    written = str(quantity_text(float(limit), dimension))
    number = re.match(r"[\d.]+", written)
    return written if number is None else f"{float(number[0]):,.12g}{written[number.end() :]}"


def _problem(error: Any, data: object, whole: type[ScenarioPart], what: str) -> str:
    """One line for a validation error: place, value, rule, remedy."""
    kind, context, place = error["type"], error.get("ctx", {}), _named(error["loc"], data, whole, what)
    value = _number(error.get("input"))
    limits = {key: _limit(limit, error["loc"], whole) for key, limit in context.items()}
    rules = {
        "missing": "is missing; add it",
        "extra_forbidden": "is not a known key; remove it or check its spelling",
        "greater_than": f"{value} must be greater than {limits.get('gt')}; change it",
        "greater_than_equal": f"{value} must be at least {limits.get('ge')}; raise it",
        "less_than": f"{value} must be less than {limits.get('lt')}; lower it",
        "less_than_equal": f"{value} must be at most {limits.get('le')}; lower it",
        "literal_error": f"{value} must be {context.get('expected')}; choose one of these",
        "choice": f"{value} must be {context.get('expected')}; choose one of these",
        "too_short": f"{value} must have at least {context.get('min_length')} entry; add one",
        "too_long": f"has more than {context.get('max_length')} entries; remove some",
        "finite_number": f"{value} must be finite; give a number",
        "int_from_float": f"{value} must be a whole number; round it",
        "int_parsing": f"{value} must be a whole number; write digits only",
        "int_type": f"{value} must be a whole number; write digits only",
        "float_parsing": f"{value} must be a number; write it as 25 or 2.5",
        "float_type": f"{value} must be a number; write it as 25 or 2.5",
        "tuple_type": f"{value} must be a list; write numbers with commas between them",
        "bool_parsing": f"{value} must be true or false; write one of them",
        "bool_type": f"{value} must be true or false; write one of them",
        "quantity": str(context.get("why")),
    }
    own = kind not in _ERRORS  # written with the schema, so that the message says all
    default = str(error["msg"]) if own else f"{value} is not allowed: {error['msg']}; correct it"
    sentence = rules.get(kind, default)
    return f"{sentence}." if kind == "placed" else f"{place}: {sentence}."
