"""The fixed slices of the invokers as a file for NVIDIA's mig-parted, and from one.

The file's form: :mod:`nona.hardware.mig_parted`. It holds how many instances of each profile, not their
places: read back, a set of slices lies where it strands least.
"""

from __future__ import annotations

from dataclasses import replace

from nona.errors import SimulationError
from nona.hardware.mig import MigLayout
from nona.hardware.mig_parted import read_mig_parted, write_mig_parted
from nona.serverless.system import ServerlessSystem


def write_layouts(system: ServerlessSystem) -> str:
    """One configuration for each layout that invokers have, named after the first of them.

    Raises
    ------
    SimulationError
        When no invoker has a layout.
    """
    names: dict[MigLayout, str] = {}
    for number, node in enumerate(system.invokers):
        if node.layout is not None and node.layout.slices:
            names.setdefault(node.layout, f"invoker-{number}")
    if not names:
        raise SimulationError("Invokers: none has MIG slices to write; give a server its mig.")
    return write_mig_parted({name: layout for layout, name in names.items()})


def read_layouts(system: ServerlessSystem, data: bytes | str, name: str = "") -> ServerlessSystem:
    """The system with its invokers' GPUs sliced as the file's configuration ``name`` says, and fixed so.

    Without a name each invoker takes the first configuration that its board can have.

    Raises
    ------
    HardwareError
        For a file that cannot be read, or of which nothing fits a board.
    SimulationError
        When an invoker has no MIG, or its board no configuration of that name.
    """
    if not all(node.board for node in system.invokers):
        raise SimulationError("Invokers: a GPU without MIG cannot be sliced; take one with MIG.")
    chosen = {}
    for board_name in dict.fromkeys(node.board for node in system.invokers):
        layouts = read_mig_parted(data, board_name).layouts
        if name and name not in layouts:
            raise SimulationError(
                f"mig-parted file: {name[:40]!r} is no configuration that the board {board_name!r} can have; "
                f"use {', '.join(list(layouts)[:10])}."
            )
        chosen[board_name] = layouts[name] if name else next(iter(layouts.values()))
    nodes = tuple(replace(node, layout=chosen[node.board]) for node in system.invokers)
    sharing = system.sharing.model_copy(update={"mode": "mig-fixed"})
    return replace(system, invokers=nodes, sharing=sharing)
