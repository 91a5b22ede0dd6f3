"""The memory of nodes, where it is limited, and what a container of each function takes of it."""

from __future__ import annotations

from dataclasses import dataclass

from nona.errors import SimulationError


@dataclass(frozen=True, slots=True)
class NodeMemory:
    """``node_bytes`` (N,) of each invoker; ``container_bytes`` (F,) of a container of each function.

    Raises
    ------
    SimulationError
        When no node holds a container of some function.

    Examples
    --------
    >>> NodeMemory((10,), (11,), ("a",))
    Traceback (most recent call last):
    nona.errors.SimulationError: Function 'a': its container needs 1.1e-08 GB, no node has more than \
1e-08 GB; give nodes more memory, or the function less.
    """

    node_bytes: tuple[int, ...]
    container_bytes: tuple[int, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        most = max(self.node_bytes)
        for name, needs in zip(self.names, self.container_bytes, strict=True):
            if needs > most:
                raise SimulationError(
                    f"Function {name!r}: its container needs {needs / 1e9:.4g} GB, no node has more than "
                    f"{most / 1e9:.4g} GB; give nodes more memory, or the function less."
                )
