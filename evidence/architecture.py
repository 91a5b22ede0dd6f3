"""The rooms of the package and their imports, as the picture in ``docs/architecture.md``.

The picture is made of what the modules import, so that a test can compare the page with the code.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import networkx as nx

from nona import import_root


def room_imports() -> Mapping[str, frozenset[str]]:
    """Return for each room, which is a folder of ``nona/``, the other rooms that its modules import."""
    package = import_root() / "nona"
    rooms = {folder.name for folder in package.iterdir() if (folder / "__init__.py").is_file()}
    return {room: frozenset(_imported(package / room) & rooms - {room}) for room in rooms}


def _imported(folder: Path) -> set[str]:
    nodes = (n for file in folder.rglob("*.py") for n in ast.walk(ast.parse(file.read_text("utf-8"))))
    names = (n.module.split(".") for n in nodes if isinstance(n, ast.ImportFrom) and n.module)
    return {parts[1] for parts in names if parts[0] == "nona" and len(parts) > 1}


def picture() -> str:
    """Return the rooms as a Mermaid diagram; an arrow that others imply is left out.

    >>> "models --> cluster" in picture()
    True
    """
    graph = nx.DiGraph([(room, other) for room, others in room_imports().items() for other in others])
    arrows = sorted(nx.transitive_reduction(graph).edges)
    return "\n".join(["```mermaid", "graph TD", *(f"  {a} --> {b}" for a, b in arrows), "```"])
