"""Rules of the house that no linter has: lengths of modules, typed results, what texts must not hold."""

import ast
import re
from pathlib import Path

from nona.core.registry import load

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "nona").rglob("*.py"))
EVIDENCE = sorted((ROOT / "evidence").rglob("*.py"))
MODULE_LINES, PAGE_LINES, APP_LINES = 600, 120, 40
PAGES = sorted((ROOT / "pages").glob("*.py"))
TEXT_SUFFIXES = {".py", ".md", ".yaml", ".yml", ".json", ".toml", ".txt", ".cff", ".csv", ".sh", ""}
SKIPPED = {".venv", ".git", "build", "dist", "test-artifacts", "__pycache__", "node_modules"}
# Folders of one machine: a path that starts with one means nothing on another.
MACHINE = re.compile(
    r"(?<![\w.$~}>-])/(?:" + "|".join(("home", "root", "Users", "work", "mnt", "scratch")) + r")/\w"
)


def _name(path):
    return str(path.relative_to(ROOT))


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


def test_only_two_modules_of_the_evidence_know_the_app():
    """One draws the studies on pages and one is a job of the app, so that commands import none of the app."""
    knows = re.compile(r"^\s*(?:from|import) (?:streamlit|nona\.app)\b", re.MULTILINE)
    drawing = {_name(p) for p in EVIDENCE if knows.search(p.read_text(encoding="utf-8"))}
    assert drawing == {"evidence/tabs.py", "evidence/theory_job.py"}


def test_results_are_typed():
    """Dictionaries of anything stand only where the data are somebody else's: JSON, plotly, two scenarios."""
    allowed = {
        *("nona/cli/lists.py", "nona/cli/declared.py", "nona/core/figures.py"),
        *("nona/queries/report/scenario_diff.py", "nona/core/document.py"),
        *("nona/queries/placement/results.py", "nona/core/chrome_trace.py"),
    }
    untyped = re.compile(r"(?:dict|Mapping)\[str, Any\]")
    shown = re.compile(
        r"/report|results\.py|chart_data\.py|nona/cli/|core/(figures|document|chrome_trace|text)\.py"
    )
    modules = [p for p in SOURCES if shown.search(_name(p)) and not _name(p).startswith("nona/app/")]
    assert {_name(path) for path in modules if untyped.search(path.read_text(encoding="utf-8"))} == allowed


def test_modules_and_pages_are_short():
    allowed = [((*SOURCES, *EVIDENCE), MODULE_LINES), (PAGES, PAGE_LINES), ([ROOT / "app.py"], APP_LINES)]
    assert all(files for files, _ in allowed)
    long = [
        f"{_name(p)}: {n} lines"
        for files, most in allowed
        for p in files
        if (n := len(p.read_text(encoding="utf-8").splitlines())) > most
    ]
    assert long == []


def test_texts_have_no_powers_of_ten():
    power = re.compile(r"(?<!%)\{[^{}%]*:\.[123]g\}(?!['\"]\))")  # but what is rounded to a number
    shown = [p for p in SOURCES if {"report", "app"} & set(_name(p).split("/")) and "plan" not in p.stem]
    assert [_name(p) for p in shown if power.search(p.read_text(encoding="utf-8"))] == []


def test_modules_and_what_other_packages_import_say_what_they_are():
    """Every module has a docstring, and each definition that a module of another package imports."""
    trees = {
        ".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): ast.parse(
            p.read_text(encoding="utf-8")
        )
        for p in SOURCES
    }
    silent = {module for module, tree in trees.items() if not ast.get_docstring(tree)}
    undocumented = {
        module: {
            node.name
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not ast.get_docstring(node)
        }
        for module, tree in trees.items()
    }
    for module, tree in trees.items():
        for node in ast.walk(tree):
            home = node.module if isinstance(node, ast.ImportFrom) else None
            if home in trees and home.rpartition(".")[0] != module.rpartition(".")[0]:
                silent |= {f"{home}.{a.name}" for a in node.names if a.name in undocumented[home]}
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
    for path in ("see /" + "home/someone/file", "open('/" + "Users/someone')"):
        assert MACHINE.search(path)
    for path in ("/usr/bin/chromium", "https://example.org/" + "home/page", "~/nona-export/bin"):
        assert not MACHINE.search(path)


def test_make_app_waits_for_nothing_but_the_packages():
    rules = dict(re.findall(r"^(app|install|test): (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert rules == {"app": "$(PACKAGES)", "install": "$(PACKAGES)", "test": "install"}


def test_what_is_named_as_text_is_there():
    named = re.compile(r'"((?:nona|evidence)(?:\.\w+)+:[\w.()]+)"')
    texts = {text for path in (*SOURCES, *EVIDENCE) for text in named.findall(path.read_text("utf-8"))}
    assert len(texts) > 50
    for text in sorted(texts):
        load(text)
