"""The direction of imports: a layer imports itself and layers before it, never one after it."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# From the bottom up. Layers on one line do not know each other.
LAYERS = (
    ("nona.__init__", "nona.errors", "nona.units", "nona.random_streams"),
    ("nona.graph", "nona.hardware", "nona.scenario"),
    ("nona.cost",),
    ("nona.contraction",),
    ("nona.decomposition",),
    ("nona.topology",),
    ("nona.system",),
    ("nona.placement",),
    ("nona.schedulers",),
    ("nona.simulation",),
    ("nona.serverless",),
    ("nona.report",),
    ("nona.samples", "nona.sources"),
    ("nona.study",),
    ("nona.ui", "nona.cli"),
)
# The rooms of nona.placement, from the bottom up: a room imports itself and rooms before it.
ROOMS = (
    "result",
    "capacity",
    "configurations",
    "spans",
    "coarsening",
    "enumeration",
    "waits",
    "formula",
    "fixed",
    "response",
    "program",
    "solver",
    "interiors",
    "shares",
    "certificate",
    "sampled",
    "notes",
    "solve",
    "compile_searches",
)
# Modules that belong to a layer of another name.
PART_OF = {
    "nona.scenario_file": "nona.scenario",
    "nona.scenario_values": "nona.scenario",
    "nona.scenario_serverless": "nona.scenario",
    "nona.commands": "nona.cli",
}
# Single files of one line above that do use each other: they are one layer.
ONE_LAYER = {
    frozenset({"nona.__init__", "nona.errors", "nona.units", "nona.random_streams"}),
    frozenset({"nona.samples", "nona.sources"}),
}
RANK = {layer: rank for rank, line in enumerate(LAYERS) for layer in line}
SOURCES = sorted((ROOT / "nona").rglob("*.py"))


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def _layer(module: str) -> str:
    """The layer of a module: its package under ``nona``, or the module itself."""
    if module == "nona":
        return "nona.__init__"
    name = ".".join(module.split(".")[:2])
    return PART_OF.get(name, name)


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything that the file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively; write the full name"
            module = node.module or ""
            if module == "nona":  # `from nona import x`: x is a module of nona, or a name of its own
                for alias in node.names:
                    known = (ROOT / "nona" / alias.name).exists() or (
                        ROOT / "nona" / f"{alias.name}.py"
                    ).exists()
                    yield node.lineno, f"nona.{alias.name}" if known else "nona"
            else:
                yield node.lineno, module


def _may_import(own: str, other: str) -> bool:
    same = own == other or any({own, other} <= together for together in ONE_LAYER)
    return same or RANK[other] < RANK[own]


@pytest.mark.parametrize("path", SOURCES, ids=_module)
def test_imports_point_downwards(path: Path) -> None:
    own = _layer(_module(path))
    assert own in RANK, f"{own} is in no layer; add it to LAYERS or PART_OF"
    wrong = [
        f"line {line}: {own} must not import {name}"
        for line, name in _imports(path)
        if (name == "nona" or name.startswith("nona.")) and not _may_import(own, _layer(name))
    ]
    assert wrong == []


@pytest.mark.parametrize("path", SOURCES, ids=_module)
def test_only_the_ui_knows_streamlit(path: Path) -> None:
    if _layer(_module(path)) != "nona.ui":
        users = [line for line, name in _imports(path) if name.split(".")[0] == "streamlit"]
        assert users == []


def test_the_table_of_layers_has_no_dead_rows() -> None:
    names = {".".join(_module(path).split(".")[:2]) for path in SOURCES}
    present = {_layer(_module(path)) for path in SOURCES}
    assert set(RANK) - present == set()
    assert {m for m in PART_OF if m not in names} == set()


def test_graph_and_hardware_do_not_know_each_other() -> None:
    for own, other in (("graph", "hardware"), ("hardware", "graph")):
        for path in (ROOT / "nona" / own).rglob("*.py"):
            assert [n for _, n in _imports(path) if n.startswith(f"nona.{other}")] == []


def test_the_rule_finds_a_wrong_import() -> None:
    """The check itself: upwards and sideways are refused, downwards and within are allowed."""
    assert not _may_import("nona.cost", "nona.study")
    assert not _may_import("nona.graph", "nona.hardware")
    assert not _may_import("nona.errors", "nona.graph")
    assert _may_import("nona.cost", "nona.graph")
    assert _may_import("nona.units", "nona.errors")
    assert _may_import("nona.study", "nona.study")


def _room(module: str) -> str:
    """The room of a module of nona.placement: its package there, or the module itself."""
    return module.split(".")[2]


PLACED = [p for p in SOURCES if _module(p).startswith("nona.placement.") and _module(p).count(".") > 1]
PLACED = [p for p in PLACED if _module(p) != "nona.placement.__init__"]


def _placed_imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of what the file imports from nona.placement, modules of packages included."""
    for line, name in _imports(path):
        if name == "nona.placement" or name.startswith("nona.placement."):
            yield line, name


@pytest.mark.parametrize("path", PLACED, ids=_module)
def test_data_flows_one_way_through_the_rooms_of_the_placement(path: Path) -> None:
    own = _room(_module(path))
    assert own in ROOMS, f"{own} is no room of nona.placement; add it to ROOMS, below all that import it"
    allowed = ROOMS[: ROOMS.index(own) + 1]
    wrong = [
        f"line {line}: {own} must not import {name}"
        for line, name in _placed_imports(path)
        if name == "nona.placement" or _room(name) not in allowed
    ]
    assert wrong == []


def test_no_modules_of_the_placement_import_each_other_in_a_circle() -> None:
    packages = {_module(p).removesuffix(".__init__") for p in PLACED if p.name == "__init__.py"}
    graph = {_module(p): {name for _, name in _placed_imports(p)} - packages for p in PLACED}
    assert len(list(TopologicalSorter(graph).static_order())) >= len(graph)  # raises CycleError on a circle


def test_rooms_are_small_and_all_there() -> None:
    sizes = dict.fromkeys(ROOMS, 0)
    for path in PLACED:
        sizes[_room(_module(path))] += path.name != "__init__.py"
    assert {room: n for room, n in sizes.items() if not 1 <= n <= 15} == {}
