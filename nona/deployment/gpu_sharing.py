"""Files that divide and share GPUs, read back: those of mig-parted and of NVIDIA's device plugin.

They name neither GPUs nor servers. Files that this program wrote say them in comments; configurations of
others count where the labels of nodes name them, see :mod:`nona.deployment.nodes`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nona.cluster.hardware.device import devices
from nona.cluster.hardware.mig import (
    MigLayout,
    gpu_layouts,
    layout_words,
    layouts_text,
    parse_layout,
    placed_text,
)
from nona.cluster.hardware.mig_parted import read_mig_parted
from nona.core.errors import DeploymentError, HardwareError
from nona.deployment.facts import Ledger
from nona.deployment.files import GivenFile
from nona.deployment.found import Found, FoundServers
from nona.deployment.located import Tree
from nona.deployment.products import device_problem
from nona.deployment.writing import ANNOTATION
from nona.scenario.rows import MOST_GPUS

_LINE = re.compile(rf"^# {ANNOTATION}(group-[\w.-]{{1,80}}): (\{{.{{1,20000}}\}})$", re.MULTILINE)
_MOST = {"servers": 100_000, "gpus": MOST_GPUS, "vcpus": 4096, "instances": 16, "mps": 48}


@dataclass(frozen=True, slots=True)
class _Noted:
    """A group of servers as a comment says it."""

    name: str
    notes: Mapping[str, object]
    place: str

    def count(self, key: str) -> int:
        """Return a number; 1 where it is not said."""
        text = str(self.notes.get(key, 1))
        if not (text.isdecimal() and len(text) < 9 and 1 <= int(text) <= _MOST[key]):
            raise DeploymentError(
                f"{self.place}: {key} {text[:40]!r} must be a whole number from 1 to {_MOST[key]:,}; "
                "correct it."
            )
        return int(text)


def shared_servers(
    parted: Sequence[GivenFile], plugins: Sequence[tuple[GivenFile, Tree]], ledger: Ledger
) -> Found:
    """Return the servers whose GPUs these files divide and share, as far as their comments say them.

    ``parted``: files of mig-parted; ``plugins``: configurations of the device plugin.

    Raises ``DeploymentError`` with file and line for a comment or layout that cannot be.
    """
    files = [*parted, *(file for file, _ in plugins)]
    noted = {one.name: one for file in files for one in _noted(file)}
    if not noted:
        for file in files:
            ledger.not_used(
                f"{file.name}: its configurations", "no label of a node names one; give the nodes as well",
                f"{file.name}:1",
            )  # fmt: skip
    return Found(servers=tuple(_servers(one, parted, plugins, ledger) for one in noted.values()))


def _noted(file: GivenFile) -> list[_Noted]:
    found = []
    text = file.text or ""
    for match in _LINE.finditer(text):
        place = f"{file.name}:{text.count(chr(10), 0, match.start()) + 1}"
        try:
            notes = json.loads(match[2])
        except (ValueError, RecursionError):
            raise DeploymentError(f"{place}: the comment on {match[1]} is no JSON; correct it.") from None
        found.append(_Noted(match[1], notes, place))
    return found


def _servers(
    one: _Noted, parted: Sequence[GivenFile], plugins: Sequence[tuple[GivenFile, Tree]], ledger: Ledger
) -> FoundServers:
    gpu, gpus = str(one.notes.get("gpu", "")), one.count("gpus")
    if problem := device_problem(gpu):
        raise DeploymentError(f"{one.place}: {problem}")
    try:
        layouts = _layouts(one, gpu, gpus, parted)
    except HardwareError as error:
        raise DeploymentError(f"{one.place}: {error}") from None
    mps = one.count("mps")
    for file, tree in plugins:
        if file.base == f"device-plugin-{one.name}.yaml" and tree.entries("sharing", "mps", "resources"):
            mps = tree.whole("sharing", "mps", "resources", 0, "replicas", least=1, most=_MOST["mps"]) or mps
    mig = layouts_text(layouts)
    servers = FoundServers(
        one.count("servers"), gpu, gpus, one.count("vcpus"), one.place, mig=mig or "",
        mps=mps if mps > 1 else 0, shared=one.count("instances"),
    )  # fmt: skip
    clients = f", mps: {mps}" if mps > 1 else ""
    words = f"{servers.count} × {gpus} {gpu}, {layout_words(mig)}{clients}"
    ledger.read(f"{one.name}: servers", words, one.place)
    return servers


def _layouts(one: _Noted, gpu: str, gpus: int, parted: Sequence[GivenFile]) -> list[str | None]:
    """Return the layouts of a group's GPUs: at the places of its comment if the slices are those."""
    board_name = devices()[gpu].mig
    if board_name is None:
        return [None] * gpus
    texts = gpu_layouts(str(one.notes.get("mig") or "") or None, gpus)
    said: list[MigLayout | None] = [parse_layout(of, board_name) if of else None for of in texts]
    for file in parted:
        try:
            found = read_mig_parted(file.data, board_name, gpus).layouts.get(one.name)
        except HardwareError:
            continue  # of other boards
        if found is not None and [*map(_slices, found)] != [*map(_slices, said)]:
            said = [*found]
    return [placed_text(layout) if layout else None for layout in said]


def _slices(layout: MigLayout | None) -> Counter[str]:
    return Counter(s.profile for s in layout.slices) if layout else Counter()
