"""The direction of imports: a layer imports itself and layers before it, and no rooms form a circle."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# From the bottom up. Layers on one line do not know each other.
LAYERS = (
    (
        "nona",
        "nona.code_cache",
        "nona.compiled",
        "nona.errors",
        "nona.foreign",
        "nona.registry",
        "nona.options",
        "nona.registry",
        "nona.units",
        "nona.random_streams",
    ),
    ("nona.allocation", "nona.results"),
    ("nona.graph", "nona.hardware"),
    ("nona.cost", "nona.gpu_sharing", "nona.planning"),
    ("nona.contraction",),
    ("nona.scenario",),
    ("nona.decomposition",),
    ("nona.topology",),
    ("nona.system",),
    ("nona.placement",),
    ("nona.schedulers",),
    ("nona.experiments",),
    ("nona.simulation",),
    ("nona.serverless", "nona.training", "nona.learning"),
    ("nona.report",),
    ("nona.sources",),
    ("nona.study", "nona.serving"),
    ("nona.store",),
    ("nona.ui", "nona.cli"),
    ("nona.__main__",),
)
FOUNDATION = frozenset(LAYERS[0])  # single files that may use each other
RANK = {layer: rank for rank, line in enumerate(LAYERS) for layer in line}
SOURCES = sorted((ROOT / "nona").rglob("*.py"))


def _module(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {_module(path): path for path in SOURCES}
PACKAGES = {name for name, path in MODULES.items() if path.name == "__init__.py"}


def _layer(module):
    """The layer of a module: its package under ``nona``, or the module itself."""
    return ".".join(module.split(".")[:2])


@cache
def _imports(module):
    """Line and full name of every module that a module imports, also inside functions."""
    return tuple(_found(ast.parse(MODULES[module].read_text(encoding="utf-8")), module))


def _found(tree, module):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno} imports relatively; write the full name"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"  # a module, or a name that a module holds
                yield node.lineno, whole if whole in MODULES else node.module or ""


def _own_imports(module):
    return ((line, name) for line, name in _imports(module) if name in MODULES)


def _may_import(own, other):
    return own == other or {own, other} <= FOUNDATION or RANK[other] < RANK[own]


def test_imports_point_downwards():
    assert {_layer(m) for m in MODULES} == RANK.keys()
    wrong = [
        f"{module}:{line} must not import {name}"
        for module in MODULES
        for line, name in _own_imports(module)
        if not _may_import(_layer(module), _layer(name))
    ]
    assert wrong == []


def test_only_the_ui_knows_streamlit():
    users = {_layer(m) for m in MODULES for _, name in _imports(m) if name.split(".")[0] == "streamlit"}
    assert users == {"nona.ui"}


def _rooms(package):
    """The rooms of a package, which are its modules and packages, and which others each imports."""
    rooms: dict[str, set[str]] = {}
    depth = package.count(".") + 2

    def room(module):
        return ".".join(module.split(".")[:depth])

    for module in MODULES:
        if module.startswith(package + "."):
            inside = (name for _, name in _own_imports(module) if name.startswith(package + "."))
            rooms.setdefault(room(module), set()).update(room(n) for n in inside if room(n) != room(module))
    return rooms


def test_no_rooms_import_each_other_in_a_circle():
    circles = []
    for package in sorted(PACKAGES):
        try:
            list(TopologicalSorter(_rooms(package)).static_order())
        except CycleError as error:
            circles.append(" -> ".join(error.args[1]))
    assert circles == []


def test_pages_benchmarks_and_examples_import_modules_that_exist():
    files = [
        ROOT / "app.py",
        *(f for d in ("pages", "benchmarks", "examples") for f in (ROOT / d).glob("*.py")),
    ]
    assert len(files) > 20
    unknown = [
        f"{file.name}:{line}: {name}"
        for file in files
        for line, name in _found(ast.parse(file.read_text(encoding="utf-8")), file.name)
        if name.split(".")[0] == "nona" and name not in MODULES
    ]
    assert unknown == []


def test_graph_and_hardware_do_not_know_each_other():
    between = [
        (module, name)
        for module in MODULES
        for _, name in _own_imports(module)
        if {_layer(module), _layer(name)} == {"nona.graph", "nona.hardware"}
    ]
    assert between == []


@pytest.mark.parametrize(
    ("own", "other", "allowed"),
    [
        ("nona.cost", "nona.study", False),
        ("nona.graph", "nona.hardware", False),
        ("nona.errors", "nona.graph", False),
        ("nona.cost", "nona.graph", True),
        ("nona.units", "nona.errors", True),
        ("nona.study", "nona.study", True),
    ],
)
def test_the_rule_finds_a_wrong_import(own, other, allowed):
    """The check itself: upwards and sideways are refused, downwards and within are allowed."""
    assert _may_import(own, other) is allowed
