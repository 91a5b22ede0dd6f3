"""Texts of nvidia-smi as one server: ``-L``, ``--query-gpu=… --format=csv``, ``mig -lgi``, ``topo -m``."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from nona.cluster.hardware.device import devices
from nona.cluster.hardware.mig import layouts_text, parse_layout, placed_text
from nona.core.errors import DeploymentError, HardwareError
from nona.deployment.facts import Ledger
from nona.deployment.files import GivenFile
from nona.deployment.found import Found, FoundServers
from nona.deployment.products import device_named

MOST_GPUS = 64
VCPUS = 16  # where no text says it
_GPU = re.compile(r"GPU (\d{1,3}): (.{1,100}?) \(UUID")
_SLICE = re.compile(r"\s+MIG ([\w.+]{1,20})\s+Device")
_COLUMN = re.compile(r"GPU[0-9]{1,3}$", re.ASCII)
_PLACED = re.compile(r"\|\s+(\d{1,3})\s+MIG ([\w.+]{1,20})\s+\d+\s+\d+\s+(\d{1,2}):(\d{1,2})\s+\|")


@dataclass
class _Gpu:
    place: str
    product: str = ""
    memory_mib: float | None = None
    slices: list[str] = field(default_factory=list)
    placed: list[str] = field(default_factory=list)


def smi_servers(files: Sequence[tuple[str, GivenFile]], ledger: Ledger) -> Found:
    """Return the server that texts of nvidia-smi describe together; each comes with its kind.

    Kinds: ``smi-list``, ``smi-csv``, ``smi-mig``, ``smi-topo``.
    """
    gpus: dict[int, _Gpu] = {}
    for kind, file in files:
        lines = list(enumerate((file.text or "").split("\n"), 1))
        if kind == "smi-list":
            _listed(lines, file.name, gpus)
        elif kind == "smi-csv":
            _queried(lines, file.name, gpus, ledger)
        elif kind == "smi-mig":
            _placed(lines, file.name, gpus)
        else:
            _topology(lines, file.name, ledger)
    if len(gpus) > MOST_GPUS:
        raise DeploymentError(f"{files[0][1].name}:1: {len(gpus)} GPUs are more than a server has; give one.")
    return Found(servers=tuple(_groups(gpus, ledger)))


def _gpu(gpus: dict[int, _Gpu], number: str, place: str) -> _Gpu:
    return gpus.setdefault(int(number), _Gpu(place))


def _listed(lines: Sequence[tuple[int, str]], name: str, gpus: dict[int, _Gpu]) -> None:
    gpu = None
    for line, text in lines:
        if match := _GPU.match(text):
            gpu = _gpu(gpus, match[1], f"{name}:{line}")
            gpu.product, gpu.place = match[2], f"{name}:{line}"
        elif (match := _SLICE.match(text)) and gpu is not None:
            gpu.slices.append(match[1])


def _placed(lines: Sequence[tuple[int, str]], name: str, gpus: dict[int, _Gpu]) -> None:
    for line, text in lines:
        if match := _PLACED.match(text):
            _gpu(gpus, match[1], f"{name}:{line}").placed.append(f"{match[2]}@{match[3]}")


def _queried(lines: Sequence[tuple[int, str]], name: str, gpus: dict[int, _Gpu], ledger: Ledger) -> None:
    header: list[str] = []
    for line, text in lines:
        cells = [cell.strip() for cell in next(csv.reader([text]), [])]
        if not header:
            header = [re.sub(r"\s*\[.*", "", cell) for cell in cells]
            continue
        row = dict(zip(header, cells, strict=False))
        if not row.get("index", "").isdecimal() or len(row["index"]) > 3:
            continue
        place = f"{name}:{line}"
        gpu = _gpu(gpus, row["index"], place)
        gpu.product = gpu.product or row.get("name", "")
        memory = re.match(r"(\d{1,9})", row.get("memory.total", ""))
        gpu.memory_mib = float(memory[1]) if memory else gpu.memory_mib
        for key in ("compute_mode", "utilization.gpu", "power.limit"):
            if (value := row.get(key, "[N/A]")) not in ("[N/A]", "Default", ""):
                ledger.not_used(f"GPU {row['index']}: {key}", value, place)


def _topology(lines: Sequence[tuple[int, str]], name: str, ledger: Ledger) -> None:
    """Note which GPUs NVLink joins: engines with several GPUs are modelled as joined by it."""
    header: list[str] = []
    joined: dict[str, str] = {}
    alone: list[str] = []
    for _, text in lines:
        cells = [cell.strip() for cell in text.split("\t")]
        if not header and "GPU0" in cells:
            header = cells
        elif header and _COLUMN.match(cells[0]):
            links = {
                h: c for h, c in zip(header, cells, strict=False) if _COLUMN.match(h) and c.startswith("NV")
            }
            if links:
                group = ", ".join(sorted({cells[0], *links}, key=lambda g: int(g[3:])))
                joined[group] = f"NVLink ({min(links.values(), key=len)[2:]})"
            else:
                alone.append(cells[0])
    for group, text in joined.items():
        ledger.read(f"{group}: joined by", text, f"{name}:1")
    if alone:
        ledger.read(f"{', '.join(alone)}: joined by", "PCIe or the CPU, no NVLink", f"{name}:1")


def _groups(gpus: Mapping[int, _Gpu], ledger: Ledger) -> list[FoundServers]:
    """Return the server; one for each kind of GPU, whose GPUs keep their order."""
    groups: dict[str, tuple[FoundServers, list[str | None]]] = {}
    for number, gpu in sorted(gpus.items()):
        device = device_named(gpu.product, gpu.memory_mib)
        if not device:
            what = f"device of GPU {number}, a {gpu.product or 'GPU without a name'}"
            device = ledger.device(f"gpu{number}.gpu", what, gpu.place)
        layout = ", ".join(sorted(gpu.placed, key=_start) or gpu.slices)
        if layout and device:
            layout = _checked(layout, device, gpu.place)
        ledger.read(
            f"GPU {number}", f"{device or gpu.product}{f' in {layout}' if layout else ', whole'}", gpu.place
        )
        servers = FoundServers(1, device, 1, VCPUS, gpu.place)
        groups.setdefault(device or gpu.product, (servers, []))[1].append(layout or None)
    if len(groups) > 1:
        ledger.assume(
            "GPUs of one server", "a group of servers for each kind, with the network between them",
            next(iter(groups.values()))[0].place,
        )  # fmt: skip
    return [
        replace(servers, gpus=len(layouts), mig=layouts_text(layouts) or "")
        for servers, layouts in groups.values()
    ]


def _start(placed: str) -> int:
    return int(placed.rpartition("@")[2])


def _checked(layout: str, device: str, place: str) -> str:
    board_name = devices()[device].mig
    if board_name is None:
        raise DeploymentError(f"{place}: {device} has no MIG, but the text names {layout!r}; check the GPU.")
    try:
        placed = parse_layout(layout, board_name)
    except HardwareError as error:
        raise DeploymentError(f"{place}: {error}") from None
    return layout if "@" in layout else placed_text(placed)
