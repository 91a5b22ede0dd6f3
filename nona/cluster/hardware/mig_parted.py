"""Files of NVIDIA's mig-parted, read and written.

Source: NVIDIA mig-parted (Apache-2.0), api/spec/v1 and examples. A file names configurations; each is a
list of entries that say which devices they are for and how many instances of each profile::

    version: v1
    mig-configs:
      balanced:
        - devices: all
          mig-enabled: true
          mig-devices: {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}

It holds counts, not places: a legal placement is found where there is one. An entry may name the PCI ids
it is for (``device-filter``), and a ConfigMap of the GPU Operator may hold the file as the text of a key.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import yaml

from nona.cluster.hardware.mig import MOST_SLICES, MigLayout, parse_layout
from nona.cluster.hardware.table_file import shipped_table
from nona.core.errors import HardwareError

MOST_BYTES = 200_000
MOST_CONFIGS = 500
MOST_DEPTH = 12
_NAME = re.compile(r"[\w.+-]{1,100}", re.ASCII)


@dataclass(frozen=True, slots=True)
class MigPartedLayouts:
    """The layouts of a file for one board, by name, and the reasons why others cannot be on it."""

    layouts: Mapping[str, MigLayout]
    left_out: Mapping[str, str]


def read_mig_parted(data: bytes | str, board_name: str) -> MigPartedLayouts:
    """Return the configurations of a mig-parted file that one kind of board can have.

    A file may serve several kinds of device, so entries that this board cannot have are left out,
    with the reason, as long as another one fits. Entries that switch MIG off, or make no instance, are
    passed over. A configuration whose entries differ gives a layout for each: ``name [1]``, ``name [2]`` …

    Raises ``HardwareError`` for text that is no such file, or of which nothing fits the board; one line.

    >>> text = '''version: v1
    ... mig-configs:
    ...   two: [{devices: all, mig-enabled: true, mig-devices: {"3g.20gb": 2}}]'''
    >>> read_mig_parted(text, "a100-40gb").layouts["two"].text
    '3g.20gb, 3g.20gb'
    """
    layouts: dict[str, MigLayout] = {}
    left_out: dict[str, str] = {}
    for name, entries in _configs(_parsed(data)).items():
        fitting = []
        for number, entry in enumerate(_entries(name, entries)):
            text, others = _slices(name, number, entry), _other_devices(entry, board_name)
            if text and others:
                left_out.setdefault(
                    name, f"{name!r}: it is for other devices ({others}) than {board_name!r}."
                )
            elif text:
                try:
                    fitting.append(parse_layout(text, board_name))
                except HardwareError as error:
                    left_out[name] = f"{name!r}, entry {number + 1}: {error}"
        if fitting and " other devices " in left_out.get(name, ""):
            del left_out[name]
        different = list(dict.fromkeys(fitting))
        for number, layout in enumerate(different, start=1):
            layouts[name if len(different) == 1 else f"{name} [{number}]"] = layout
    if not layouts:
        reason = next(
            iter(left_out.values()),
            "no configuration enables MIG with an instance; add a profile under mig-devices.",
        )
        raise HardwareError(f"mig-parted file: {reason}")
    return MigPartedLayouts(layouts, left_out)


def write_mig_parted(layouts: Mapping[str, MigLayout]) -> str:
    """Return a mig-parted file with one configuration per layout, for all devices.

    Raises ``HardwareError`` for a name that mig-parted would not take, or a layout without an instance.

    >>> print(write_mig_parted({"half": parse_layout("3g.20gb, 3g.20gb", "a100-40gb")}).split("half:")[1])
    <BLANKLINE>
      - devices: all
        mig-enabled: true
        mig-devices:
          3g.20gb: 2
    <BLANKLINE>
    """
    configs: dict[str, list[dict[str, str | bool | dict[str, int]]]] = {}
    for name, layout in layouts.items():
        if not _NAME.fullmatch(name):
            raise HardwareError(
                f"mig-parted file: the name {name[:40]!r} must be 1 to 100 letters, digits and . _ + -; "
                "rename it."
            )
        if not layout.slices:
            raise HardwareError(f"mig-parted file: the layout {name!r} has no instance; add one.")
        counts = Counter(s.profile for s in layout.slices)
        configs[name] = [{"devices": "all", "mig-enabled": True, "mig-devices": dict(sorted(counts.items()))}]
    return yaml.safe_dump({"version": "v1", "mig-configs": configs}, sort_keys=False)


def _parsed(data: bytes | str) -> Mapping[object, object]:
    size = len(data)
    if size > MOST_BYTES:
        raise HardwareError(
            f"mig-parted file: {size:,} bytes are more than {MOST_BYTES:,}; give the file with the layouts."
        )
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
    except UnicodeDecodeError:
        raise HardwareError("mig-parted file: it is not UTF-8 text; give the YAML file.") from None
    try:
        wrong = _trap(text)
        document = None if wrong else next(iter(_files(text)), None)
    except (yaml.YAMLError, RecursionError, ValueError, LookupError, AttributeError, TypeError) as error:
        where = getattr(error, "problem_mark", None)
        line = f" (line {where.line + 1})" if where else ""
        raise HardwareError(f"mig-parted file: it is not YAML{line}; correct the text.") from None
    if wrong:
        raise HardwareError(f"mig-parted file: {wrong}.")
    if document is None:
        raise HardwareError("mig-parted file: the key 'mig-configs' is missing; give a mig-parted file.")
    if document.get("version") != "v1":
        version = _short(document.get("version"), 20)
        raise HardwareError(f"mig-parted file: version={version!r} must be 'v1'; convert the file.")
    return document


def _files(text: str) -> Iterator[Mapping[object, object]]:
    """Yield the documents with configurations, also those that a ConfigMap holds as text."""
    for document in yaml.safe_load_all(text):
        if isinstance(document, Mapping) and "mig-configs" in document:
            yield document
        elif isinstance(document, Mapping) and isinstance(texts := document.get("data"), Mapping):
            for value in texts.values():
                if isinstance(value, str) and "mig-configs" in value and not _trap(value):
                    inner = yaml.safe_load(value)
                    if isinstance(inner, Mapping) and "mig-configs" in inner:
                        yield inner


def _trap(text: str) -> str:
    """Name the reason why a short YAML text is costly to load, an alias or deep nesting; else empty."""
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            return "it uses a YAML alias (*name); write the entries out"
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_DEPTH:
            return f"it is nested deeper than {MOST_DEPTH} levels; correct the text"
    return ""


def _short(value: object, most: int) -> str:
    """Return the beginning of a value as text; Python writes no whole numbers of thousands of digits."""
    if isinstance(value, int) and value.bit_length() > 500:
        return f"a number of {value.bit_length()} bits"
    return str(value)[:most]


def _configs(document: Mapping[object, object]) -> Mapping[str, object]:
    configs = document["mig-configs"]
    if not isinstance(configs, Mapping) or not configs:
        raise HardwareError("mig-parted file: 'mig-configs' must be a mapping of names; add a configuration.")
    if len(configs) > MOST_CONFIGS:
        raise HardwareError(
            f"mig-parted file: {len(configs)} configurations are more than {MOST_CONFIGS}; give fewer."
        )
    return {_short(name, 100): entries for name, entries in configs.items()}


def _entries(name: str, entries: object) -> list[Mapping[object, object]]:
    if isinstance(entries, list) and all(isinstance(e, Mapping) for e in entries):
        return entries
    raise HardwareError(f"mig-parted file: {name!r} must be a list of entries, each a mapping; correct it.")


def _slices(name: str, number: int, entry: Mapping[object, object]) -> str:
    """Return the slices of one entry as a text for :func:`parse_layout`; empty where MIG is off."""
    where = f"mig-parted file: {name!r}, entry {number + 1}"
    enabled, devices = entry.get("mig-enabled"), entry.get("mig-devices")
    if not isinstance(enabled, bool):
        raise HardwareError(
            f"{where}: mig-enabled={_short(enabled, 20)!r} must be true or false; correct it."
        )
    if not enabled:
        return ""
    if not isinstance(devices, Mapping):
        raise HardwareError(f"{where}: mig-devices must map profiles to counts; write {{}} for no instance.")
    names: list[str] = []
    for profile, count in devices.items():
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_SLICES:
            raise HardwareError(
                f"{where}: {_short(profile, 40)!r}: the count {_short(count, 20)!r} must be a whole number "
                f"from 1 to {MOST_SLICES}; correct it."
            )
        if not _NAME.fullmatch(_short(profile, 200)):
            raise HardwareError(
                f"{where}: {_short(profile, 40)!r} is not a profile; write for example 1g.5gb."
            )
        names += [_short(profile, 200)] * count
        if len(names) > MOST_SLICES:
            raise HardwareError(f"{where}: more than {MOST_SLICES} instances; no board holds them.")
    return ", ".join(names)


def _other_devices(entry: Mapping[object, object], board_name: str) -> str:
    """Return the PCI ids of an entry if they are known to be other boards'.

    Unknown ids may be this board's.
    """
    wanted = entry.get("device-filter", [])
    ids = {_short(i, 20).lower() for i in (wanted if isinstance(wanted, list) else [wanted])}
    boards = {
        row["board"]
        for row in shipped_table("nona.cluster.hardware", "data/mig_pci_ids.csv")
        if row["id"] in ids
    }
    return ", ".join(sorted(ids)[:4]) if boards and board_name not in boards else ""
