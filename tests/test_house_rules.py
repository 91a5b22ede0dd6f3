"""Rules of the house that a machine can check: sizes, docstrings, and what text must not hold."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULE_LINES, FUNCTION_LINES, PAGE_LINES, APP_LINES = 600, 60, 120, 40
SOURCES = sorted((ROOT / "nona").rglob("*.py"))
PAGES = sorted((ROOT / "pages").glob("*.py"))
TEXT_SUFFIXES = {".py", ".md", ".yaml", ".yml", ".json", ".toml", ".txt", ".cff", ".csv", ".sh", ""}
SKIPPED = {".venv", ".git", "build", "dist", "test-artifacts", "__pycache__", "node_modules"}
# Folders of one machine: a path that starts with one means nothing on another.
MACHINE = re.compile(
    r"(?<![\w.$~}>-])/(?:" + "|".join(("home", "root", "Users", "work", "mnt", "scratch")) + r")/\w"
)


def _name(path):
    return str(path.relative_to(ROOT))


def _texts():
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        hidden_cache = parts[0].startswith(".") and parts[0].endswith(("_cache", ".hypothesis"))
        if SKIPPED.isdisjoint(parts) and not hidden_cache and path.is_file() and path.suffix in TEXT_SUFFIXES:
            yield path


def test_results_are_typed():
    """Dictionaries of anything stand only where the data are somebody else's: JSON, plotly, two scenarios."""
    allowed = {
        "nona/cli/lists.py",
        "nona/report/studies/figures.py",
        "nona/report/figures.py",
        "nona/report/simulations/scenario_diff.py",
        "nona/results/document.py",
        "nona/results/placement.py",
        "nona/results/trace.py",
    }
    rooms = tuple(str(ROOT / "nona" / room) for room in ("results", "report", "cli"))
    untyped = re.compile(r"(?:dict|Mapping)\[str, Any\]")
    found = {
        _name(path)
        for path in SOURCES
        if str(path).startswith(rooms) and untyped.search(path.read_text(encoding="utf-8"))
    }
    assert found == allowed


def test_modules_and_functions_are_short():
    assert SOURCES, "there are no modules"
    long = [f"{_name(p)}: {n} lines" for p in SOURCES if (n := len(_lines(p))) > MODULE_LINES]
    long += [
        f"{_name(path)}: {node.name}: {_code_lines(node)} lines"
        for path in SOURCES
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _code_lines(node) > FUNCTION_LINES
    ]
    assert long == []


def _lines(path):
    return path.read_text(encoding="utf-8").splitlines()


@cache
def _tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def _code_lines(function):
    """Lines of a function without its docstring."""
    first = function.body[0]
    docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    skipped = (first.end_lineno or 0) - first.lineno + 1 if docstring else 0
    return (function.end_lineno or 0) - function.lineno + 1 - skipped


def test_the_app_and_its_pages_are_short():
    app = ROOT / "app.py"
    assert len(app.read_text(encoding="utf-8").splitlines()) <= APP_LINES
    assert PAGES, "there are no pages"
    long = [_name(p) for p in PAGES if len(p.read_text(encoding="utf-8").splitlines()) > PAGE_LINES]
    assert long == []


def test_code_keeps_to_the_rules_of_the_house():
    wrong = [
        f"{_name(path)}:{line}: {rule}" for path in (*SOURCES, *PAGES) for line, rule in _broken(_tree(path))
    ]
    assert wrong == []


def _broken(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.type is None:
            yield node.lineno, "bare except; name the errors"
        if isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names):
            yield node.lineno, "import *; name what is imported"
        if isinstance(node, ast.Assert):
            yield node.lineno, "assert vanishes under -O; raise an error"
        if isinstance(node, ast.Global):
            yield node.lineno, "global state; pass it along"


def test_modules_and_what_other_packages_import_say_what_they_are():
    """Every module has a docstring, and each definition that a module of another package imports."""
    places = {".".join(p.relative_to(ROOT).with_suffix("").parts): p for p in SOURCES}
    silent = {_name(path) for path in SOURCES if not ast.get_docstring(_tree(path))}
    for module, path in places.items():
        for node in ast.walk(_tree(path)):
            home = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            if home in places and home.rpartition(".")[0] != module.rpartition(".")[0]:
                imported = {alias.name for alias in node.names}
                silent |= {f"{home}.{d.name}" for d in _undocumented(places[home]) if d.name in imported}
    assert sorted(silent) == []


@cache
def _undocumented(path):
    return tuple(
        node
        for node in _tree(path).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not ast.get_docstring(node)
    )


def test_no_text_names_a_folder_of_one_machine():
    wrong = []
    for path in _texts():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if MACHINE.search(line) or "../" + "shared" in line:
                wrong.append(f"{_name(path)}:{number}: {line.strip()[:100]}")
    assert wrong == []


def test_no_check_is_silenced_wholesale_and_nothing_is_left_open():
    blanket = re.compile(r"#\s*(?:noqa(?!:\s*[A-Z])|type:\s*ignore(?!\[)|mypy:\s*ignore-errors|ruff:\s*noqa)")
    unfinished = re.compile(r"\b(?:" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")) + r")\b")
    wrong = []
    for path in _texts():
        if path.suffix == ".py":
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if blanket.search(line) or unfinished.search(line):
                    wrong.append(f"{_name(path)}:{number}: {line.strip()[:100]}")
    assert wrong == []


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("see /" + "home/someone/file", True),
        ("open('/" + "Users/someone')", True),
        ("/usr/bin/chromium", False),
        ("https://example.org/" + "home/page", False),
        ("~/nona-export/bin", False),
    ],
)
def test_the_pattern_for_machine_paths(line, wrong):
    assert bool(MACHINE.search(line)) is wrong


def test_test_files_have_names_of_their_own():
    """Without packages pytest imports them by name: of two that are alike it reads only one."""
    names = [p.name for p in (ROOT / "tests").rglob("*.py") if p.name != "conftest.py"]
    assert sorted(names) == sorted(set(names))
