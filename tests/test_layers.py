"""Rules that a machine can check: layers and imports, sizes, docstrings, and what text must not hold."""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

from nona.registry import load

ROOT = Path(__file__).resolve().parent.parent
# From the bottom up. Layers on one line do not know each other.
LAYERS = (
    (
        *("nona", "nona.arrays", "nona.code_cache", "nona.compiled", "nona.errors", "nona.foreign"),
        *("nona.options", "nona.priority", "nona.random_streams", "nona.registry", "nona.units"),
    ),
    ("nona.allocation", "nona.results"),
    ("nona.statistics", "nona.tables"),
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
    ("nona.serverless", "nona.training", "nona.language"),
    ("nona.report",),
    ("nona.sources",),
    ("nona.study", "nona.serving"),
    ("nona.store",),
    ("nona.ui", "nona.cli"),
    ("nona.__main__",),
)
FOUNDATION = frozenset(LAYERS[0])  # single files that may use each other
RANK = {layer: rank for rank, line in enumerate(LAYERS) for layer in line}
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
SOURCES = sorted((ROOT / "nona").rglob("*.py"))
STUDIES = sorted((ROOT / "studies").rglob("*.py"))


def _module(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {_module(path): path for path in SOURCES}
PACKAGES = {name for name, path in MODULES.items() if path.name == "__init__.py"}


def _layer(module):
    """The layer of a module: its package under ``nona``, or the module itself."""
    return ".".join(module.split(".")[:2])


class Facts(NamedTuple):
    """What is asked of a file, read once: a tree of every file would burden all tests after it."""

    imports: tuple  # line and full name of every module that it imports, also inside functions
    broken: tuple  # line and rule
    lengths: tuple  # name and lines of code of every function
    documented: bool
    undocumented: tuple  # names of definitions
    names: tuple  # the module and the names of every ``from … import …``


@cache
def _facts(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    return Facts(
        imports=tuple(_found(nodes, _module(path))),
        broken=tuple(_broken(nodes)),
        lengths=tuple((n.name, _code_lines(n)) for n in nodes if isinstance(n, FUNCTIONS)),
        documented=bool(ast.get_docstring(tree)),
        undocumented=tuple(
            n.name
            for n in tree.body
            if isinstance(n, ast.FunctionDef | ast.ClassDef) and not ast.get_docstring(n)
        ),
        names=tuple(
            (n.module or "", frozenset(a.name for a in n.names))
            for n in nodes
            if isinstance(n, ast.ImportFrom)
        ),
    )


def _imports(module):
    return _facts(MODULES[module]).imports


def _found(nodes, module):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno} imports relatively; write the full name"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"  # a module, or a name that a module holds
                yield node.lineno, whole if whole in MODULES else node.module or ""


def _may_import(own, other):
    return own == other or {own, other} <= FOUNDATION or RANK[other] < RANK[own]


def test_imports_point_downwards():
    assert {_layer(m) for m in MODULES} == RANK.keys()
    wrong = [
        f"{module}:{line} must not import {name}"
        for module in MODULES
        for line, name in _imports(module)
        if name in MODULES and not _may_import(_layer(module), _layer(name))
    ]
    assert wrong == []


def test_the_package_does_not_import_what_stands_beside_it():
    beside = {"studies", "benchmarks", "tests", "pages"}
    assert [m for m in MODULES for _, name in _imports(m) if name.split(".")[0] in beside] == []


def test_only_the_ui_knows_streamlit():
    users = {_layer(m) for m in MODULES for _, name in _imports(m) if name.split(".")[0] == "streamlit"}
    assert users == {"nona.ui"}
    # Pages show studies: one module beside the package draws them and one is a job of the app, so that
    # commands import none of the app.
    drawing = {
        _name(p) for p in STUDIES for _, name in _facts(p).imports if _layer(name) in ("streamlit", "nona.ui")
    }
    assert drawing == {"studies/tabs.py", "studies/theory_job.py"}


def _rooms(package):
    """The rooms of a package, which are its modules and packages, and which others each imports."""
    rooms: dict[str, set[str]] = {}

    def room(module):
        return ".".join(module.split(".")[: package.count(".") + 2])

    for module in MODULES:
        if module.startswith(package + "."):
            inside = {room(n) for _, n in _imports(module) if n in MODULES and n.startswith(package + ".")}
            rooms.setdefault(room(module), set()).update(inside - {room(module)})
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
        *(f for d in ("pages", "benchmarks", "examples", "studies") for f in (ROOT / d).rglob("*.py")),
    ]
    assert len(files) > 20
    found = [(file.name, name) for file in files for _, name in _facts(file).imports]
    assert [(file, n) for file, n in found if n.split(".")[0] == "nona" and n not in MODULES] == []


MODULE_LINES, FUNCTION_LINES, PAGE_LINES, APP_LINES = 600, 60, 120, 40
PAGES = sorted((ROOT / "pages").glob("*.py"))
TEXT_SUFFIXES = {".py", ".md", ".yaml", ".yml", ".json", ".toml", ".txt", ".cff", ".csv", ".sh", ""}
SKIPPED = {".venv", ".git", "build", "dist", "test-artifacts", "__pycache__", "node_modules"}
# Folders of one machine: a path that starts with one means nothing on another.
MACHINE = re.compile(
    r"(?<![\w.$~}>-])/(?:" + "|".join(("home", "root", "Users", "work", "mnt", "scratch")) + r")/\w"
)


def _name(path):
    return str(path.relative_to(ROOT))


def _code_lines(function):
    """Lines of a function without its docstring."""
    first = function.body[0]
    docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    skipped = (first.end_lineno or 0) - first.lineno + 1 if docstring else 0
    return (function.end_lineno or 0) - function.lineno + 1 - skipped


def _broken(nodes):
    for node in nodes:
        if isinstance(node, ast.ExceptHandler) and node.type is None:
            yield node.lineno, "bare except; name the errors"
        if isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names):
            yield node.lineno, "import *; name what is imported"
        if isinstance(node, ast.Assert):
            yield node.lineno, "assert vanishes under -O; raise an error"
        if isinstance(node, ast.Global):
            yield node.lineno, "global state; pass it along"


def test_test_files_have_names_of_their_own():
    """Without packages pytest imports them by name: of two that are alike it reads only one."""
    names = [p.name for p in (ROOT / "tests").rglob("*.py") if p.name != "conftest.py"]
    assert sorted(names) == sorted(set(names))


def _texts():
    """Path and lines of every text of the project."""
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        hidden_cache = parts[0].startswith(".") and parts[0].endswith(("_cache", ".hypothesis"))
        if SKIPPED.isdisjoint(parts) and not hidden_cache and path.is_file() and path.suffix in TEXT_SUFFIXES:
            yield path, path.read_text(encoding="utf-8").splitlines()


def test_results_are_typed():
    """Dictionaries of anything stand only where the data are somebody else's: JSON, plotly, two scenarios."""
    allowed = {
        *("nona/cli/lists.py", "nona/cli/declared.py", "nona/report/figures.py"),
        *("nona/report/simulations/scenario_diff.py", "nona/results/document.py"),
        *("nona/results/placement.py", "nona/results/simulation_charts.py"),
    }
    untyped = re.compile(r"(?:dict|Mapping)\[str, Any\]")
    rooms = [p for room in ("results", "report", "cli") for p in (ROOT / "nona" / room).rglob("*.py")]
    assert {_name(path) for path in rooms if untyped.search(path.read_text(encoding="utf-8"))} == allowed


def test_modules_functions_and_pages_are_short():
    allowed = [((*SOURCES, *STUDIES), MODULE_LINES), (PAGES, PAGE_LINES), ([ROOT / "app.py"], APP_LINES)]
    assert all(files for files, _ in allowed)
    long = [
        f"{_name(p)}: {n} lines"
        for files, most in allowed
        for p in files
        if (n := len(p.read_text(encoding="utf-8").splitlines())) > most
    ]
    long += [
        f"{_name(path)}: {name}: {lines} lines"
        for path in (*SOURCES, *STUDIES)
        for name, lines in _facts(path).lengths
        if lines > FUNCTION_LINES
    ]
    assert long == []


def test_code_keeps_to_the_rules_of_the_house():
    files = (*SOURCES, *STUDIES, *PAGES)
    assert [f"{_name(p)}:{line}: {rule}" for p in files for line, rule in _facts(p).broken] == []


def test_texts_have_no_powers_of_ten():
    power = re.compile(r"(?<!%)\{[^{}%]*:\.[123]g\}(?!['\"]\))")  # but what is rounded to a number
    rooms = [p for p in SOURCES if {"report", "ui"} & set(_name(p).split("/")) and "plan" not in p.stem]
    assert [_name(p) for p in rooms if power.search(p.read_text(encoding="utf-8"))] == []


def test_modules_and_what_other_packages_import_say_what_they_are():
    """Every module has a docstring, and each definition that a module of another package imports."""
    silent = {_name(path) for path in SOURCES if not _facts(path).documented}
    for module, path in MODULES.items():
        for home, imported in _facts(path).names:
            if home in MODULES and home.rpartition(".")[0] != module.rpartition(".")[0]:
                silent |= {f"{home}.{n}" for n in _facts(MODULES[home]).undocumented if n in imported}
    assert sorted(silent) == []


BLANKET = re.compile(r"#\s*(?:noqa(?!:\s*[A-Z])|type:\s*ignore(?!\[)|mypy:\s*ignore-errors|ruff:\s*noqa)")
UNFINISHED = re.compile(r"\b(?:" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")) + r")\b")


def test_no_text_names_a_folder_of_one_machine_silences_a_check_wholesale_or_is_left_open():
    wrong = [
        f"{_name(path)}:{number}: {line.strip()[:100]}"
        for path, lines in _texts()
        for number, line in enumerate(lines, 1)
        if MACHINE.search(line)
        or "../" + "shared" in line
        or (path.suffix == ".py" and (BLANKET.search(line) or UNFINISHED.search(line)))
    ]
    assert wrong == []


def test_make_app_waits_for_nothing_but_the_packages():
    rules = dict(re.findall(r"^(app|install|test): (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert rules == {"app": "$(PACKAGES)", "install": "$(PACKAGES)", "test": "install"}


def test_what_is_named_as_text_is_there():
    named = re.compile(r'"((?:nona|studies)(?:\.\w+)+:[\w.()]+)"')
    texts = {text for path in (*SOURCES, *STUDIES) for text in named.findall(path.read_text("utf-8"))}
    assert len(texts) > 50
    for text in sorted(texts):
        load(text)
