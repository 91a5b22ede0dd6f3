"""Files of NVIDIA's mig-parted, read and written.

Source: NVIDIA mig-parted (Apache-2.0), api/spec/v1 and examples. A file names configurations; each is a
list of entries that say which devices they are for and how many instances of each profile::

    version: v1
    mig-configs:
      balanced:
        - devices: all
          mig-enabled: true
          mig-devices: {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}

``devices`` may be a list of the numbers of GPUs, and ``mig-enabled: false`` leaves them whole. The file holds
counts, not places: a legal placement is found where there is one. An entry may name the PCI ids it is for
(``device-filter``), and a ConfigMap of the GPU Operator may hold the file as the text of a key.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import yaml

from nona.cluster.hardware.mig import MOST_SLICES, MigLayout, parse_layout
from nona.cluster.hardware.table_file import shipped_table
from nona.core.errors import HardwareError

MOST_BYTES = 200_000
MOST_CONFIGS = 500
MOST_DEPTH = 12
MOST_DEVICES = 64
_NAME = re.compile(r"[\w.+-]{1,100}", re.ASCII)


ServerLayouts = tuple[MigLayout | None, ...]
_Fitting = list[tuple[tuple[int, ...] | None, MigLayout | None]]


@dataclass(frozen=True, slots=True)
class MigPartedLayouts:
    """The layouts of a file for servers with one board, by name, and the reasons why others cannot be on it.

    ``layouts``: of each GPU by number, ``None`` where it is whole.
    """

    layouts: Mapping[str, ServerLayouts]
    left_out: Mapping[str, str]


def read_mig_parted(data: bytes | str, board_name: str, gpus: int = 1) -> MigPartedLayouts:
    """Return the configurations of a mig-parted file that servers with ``gpus`` GPUs of one kind can have.

    A file may serve several kinds of device, so entries that this board cannot have are left out,
    with the reason, as long as another one fits. Configurations that make no instance are passed over. Where
    entries differ for GPUs that the servers do not have, or for all of them, the configuration gives layouts
    for each: ``name [1]``, ``name [2]`` …

    Parameters
    ----------
    data : bytes or str
        Content of the file.
    board_name : str
        Board of the servers' GPUs, such as ``a100-40gb``.
    gpus : int, optional
        GPUs of each server.

    Returns
    -------
    MigPartedLayouts
        Configuration → layout of each GPU, and what was left out.

    Raises
    ------
    HardwareError
        If the text is no such file, or nothing of it fits the board.

    Examples
    --------
    >>> text = '''version: v1
    ... mig-configs:
    ...   two:
    ...     - {devices: [0], mig-enabled: true, mig-devices: {"3g.20gb": 2}}
    ...     - {devices: [1], mig-enabled: false}'''
    >>> [layout and layout.text for layout in read_mig_parted(text, "a100-40gb", 2).layouts["two"]]
    ['3g.20gb, 3g.20gb', None]
    """
    layouts: dict[str, ServerLayouts] = {}
    left_out: dict[str, str] = {}
    for name, entries in _configs(_parsed(data)).items():
        fitting: _Fitting = []
        exact = True
        for number, entry in enumerate(_entries(name, entries)):
            where = f"mig-parted file: {name!r}, entry {number + 1}"
            text, devices = _slices(where, entry), _devices(where, entry)
            if others := _other_devices(entry, board_name):
                if text:
                    why = f"{name!r}: it is for other devices ({others}) than {board_name!r}."
                    left_out.setdefault(name, why)
                continue
            try:
                if text != "":
                    fitting.append((devices, parse_layout(text, board_name) if text else None))
                    continue
            except HardwareError as error:
                left_out[name] = f"{name!r}, entry {number + 1}: {error}"
            exact &= devices is None  # else nothing is known of a GPU
        found = _on_servers(fitting, gpus, exact)
        if found and " other devices " in left_out.get(name, ""):
            del left_out[name]
        for number, each in enumerate(found, start=1):
            layouts[name if len(found) == 1 else f"{name} [{number}]"] = each
    if not layouts:
        reason = next(
            iter(left_out.values()),
            "no configuration enables MIG with a slice; add a profile under mig-devices.",
        )
        raise HardwareError(f"mig-parted file: {reason}")
    return MigPartedLayouts(layouts, left_out)


def _on_servers(fitting: _Fitting, gpus: int, exact: bool) -> list[ServerLayouts]:
    """Return the layouts that entries mean: of each GPU by number, or where not exact one after the other."""
    of_all = [layout for devices, layout in fitting if devices is None]
    own = {gpu: layout for devices, layout in fitting for gpu in devices or ()}
    if exact and own and max(own) < gpus and len(set(of_all)) < 2:
        each = tuple(own.get(gpu, of_all[0] if of_all else None) for gpu in range(gpus))
        return [each] if any(each) else []
    return [(layout,) * gpus for layout in dict.fromkeys(layout for _, layout in fitting) if layout]


def write_mig_parted(configs: Mapping[str, Sequence[MigLayout | None]]) -> str:
    """Return a mig-parted file: of each configuration the layouts by GPU, or one for all devices.

    Raises ``HardwareError`` for a name that mig-parted would not take, or a layout without an instance.

    >>> half = parse_layout("3g.20gb, 3g.20gb", "a100-40gb")
    >>> print(write_mig_parted({"half": [half]}).split("half:")[1])
    <BLANKLINE>
      - devices: all
        mig-enabled: true
        mig-devices:
          3g.20gb: 2
    <BLANKLINE>
    """
    written: dict[str, list[dict[str, object]]] = {}
    for name, layouts in configs.items():
        if not _NAME.fullmatch(name):
            raise HardwareError(
                f"mig-parted file: the name {name[:40]!r} must be 1 to 100 letters, digits and . _ + -; "
                "rename it."
            )
        entries = written[name] = []
        for layout in dict.fromkeys(layouts):
            numbers = [gpu for gpu, of in enumerate(layouts) if of == layout]
            entry: dict[str, object] = {"devices": numbers if len(layouts) > 1 else "all"}
            entry["mig-enabled"] = layout is not None
            if layout is not None:
                if not layout.slices:
                    raise HardwareError(f"mig-parted file: the layout {name!r} has no slice; add one.")
                counts = Counter(s.profile for s in layout.slices)
                entry["mig-devices"] = dict(sorted(counts.items()))
            entries.append(entry)
    return yaml.safe_dump({"version": "v1", "mig-configs": written}, sort_keys=False)


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


def _devices(where: str, entry: Mapping[object, object]) -> tuple[int, ...] | None:
    """Return the numbers of the GPUs that an entry is for; ``None``: all."""
    devices = entry.get("devices", "all")
    if devices == "all":
        return None
    numbers = devices if isinstance(devices, list) and len(devices) <= MOST_DEVICES else [None]
    if not all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n < MOST_DEVICES for n in numbers):
        raise HardwareError(
            f"{where}: devices={_short(devices, 40)!r} must be 'all' or a list of numbers from 0 to "
            f"{MOST_DEVICES - 1}; correct it."
        )
    return tuple(numbers)


def _slices(where: str, entry: Mapping[object, object]) -> str | None:
    """Return the slices of one entry as a text for :func:`parse_layout`; ``None`` where MIG is off."""
    enabled, devices = entry.get("mig-enabled"), entry.get("mig-devices")
    if not isinstance(enabled, bool):
        raise HardwareError(
            f"{where}: mig-enabled={_short(enabled, 20)!r} must be true or false; correct it."
        )
    if not enabled:
        return None
    if not isinstance(devices, Mapping):
        raise HardwareError(f"{where}: mig-devices must map profiles to counts; write {{}} for no slice.")
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
            raise HardwareError(f"{where}: more than {MOST_SLICES} slices; no board holds them.")
    return ", ".join(names)


def _other_devices(entry: Mapping[object, object], board_name: str) -> str:
    """Return the PCI ids of an entry that are known to be other boards'."""
    wanted = entry.get("device-filter", [])
    ids = {_short(i, 20).lower() for i in (wanted if isinstance(wanted, list) else [wanted])}
    boards = {
        row["board"]
        for row in shipped_table("nona.cluster.hardware", "data/mig_pci_ids.csv")
        if row["id"] in ids
    }
    return ", ".join(sorted(ids)[:4]) if boards and board_name not in boards else ""
