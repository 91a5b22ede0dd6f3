"""The origin of each default of the serverless model, in one table.

Values are read where they act, so that the table cannot drift from the program; only values of shipped
scenarios and workflows stand in the table, and a test compares them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nona.errors import SimulationError
from nona.hardware.table_file import shipped_table
from nona.scenario.serverless import ServerlessSpec
from nona.serverless.policies.registry import get_policy, policy_names

TABLE = ("nona.serverless", "data/provenance.csv")
#: What each tag means, the surest first.
TAGS: Mapping[str, str] = {
    "stated": "read in the slides on ESG (HPDC 2024)",
    "published": "read on a public page or in public code",
    "measured": "fitted to public measurements, or measured with this program",
    "recollected": "believed to be in the ESG paper, which could not be read: no claim about it",
    "design": "our own choice, as no source states it",
}


@dataclass(frozen=True, slots=True)
class Default:
    """One default: ``key``, its ``value`` in words, a tag of :data:`TAGS`, source, where it is changed."""

    key: str
    value: str
    tag: str
    source: str
    where: str


def provenance() -> tuple[Default, ...]:
    """All defaults, in the order of the table; those of a policy's options last.

    Raises ``SimulationError`` when the table names what there is not, or an unknown tag.

    >>> {d.key: d for d in provenance()}["serverless.prices.vgpu_hour"].value
    '0.67'
    """
    spec = dict(_leaves(ServerlessSpec().model_dump(), "serverless"))
    defaults = []
    for row in shipped_table(*TABLE):
        key, tag = row["key"], row["tag"]
        if tag not in TAGS:
            raise SimulationError(f"Provenance {key!r}: tag {tag!r} is not known; use {', '.join(TAGS)}.")
        value, where = row["value"], row["where"] or key
        if key.startswith("serverless."):
            value = shown(_known(spec, key))
        elif key.startswith("policy."):
            _, name, option = key.split(".")
            if name not in policy_names():
                continue
            value = shown(_known(get_policy(name).defaults, option))
            where = f"serverless.policies, {name}: options.{option}"
        elif not value:
            value = "see the table of functions"
        defaults.append(Default(key, value, tag, row["source"], where))
    return tuple(defaults)


def missing() -> tuple[str, ...]:
    """Keys of defaults without a row in the table; empty, as a test ensures.

    >>> missing()
    ()
    """
    rows = {row["key"] for row in shipped_table(*TABLE)}
    keys = [key for key, _ in _leaves(ServerlessSpec().model_dump(), "serverless")]
    policies = {row["key"].split(".")[1] for row in shipped_table(*TABLE) if row["key"].startswith("policy.")}
    for name in policies & set(policy_names()):
        keys += [f"policy.{name}.{option}" for option in get_policy(name).defaults]
    return tuple(k for k in keys if k not in rows)


def shown(value: object) -> str:
    """A default in words.

    >>> shown((1, 2)), shown(None), shown(True), shown(1e9)
    ('1, 2', 'none', 'yes', '1e+09')
    """
    if value is None or value in ((), {}):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(shown(v["name"]) if isinstance(v, Mapping) else shown(v) for v in value)
    return str(value)


def _leaves(value: Mapping[str, object], path: str) -> Iterator[tuple[str, object]]:
    for name, part in value.items():
        if isinstance(part, Mapping) and part:
            yield from _leaves(part, f"{path}.{name}")
        else:
            yield f"{path}.{name}", part


def _known(values: Mapping[str, object], key: str) -> object:
    if key not in values:
        raise SimulationError(f"Provenance: {key!r} is not a default of the program; correct the table.")
    return values[key]
