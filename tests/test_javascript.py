"""The scripts of the drawn components: format and lint of each file, and the names in what the browser gets.

Skipped where Node is missing, or Biome, which ``npm install --no-package-lock`` brings.
"""

import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
import streamlit as st

ROOT = Path(__file__).resolve().parent.parent
NODE = shutil.which("node")
BIOME = ROOT / "node_modules" / ".bin" / "biome"
SCRIPTS = sorted((ROOT / "nona" / "app").rglob("*.js"))
REPORT = ROOT / "nona" / "core" / "html" / "templates" / "report.js"
NAMES = ("noUndeclaredVariables", "noUnusedVariables", "noInvalidUseBeforeDeclaration", "noRedeclare")
USED = "void [svg, html];"  # of elements.js, which every component gets, though it may need one only

needs_node = pytest.mark.skipif(NODE is None, reason="needs Node")
needs_biome = pytest.mark.skipif(
    NODE is None or not BIOME.exists(), reason="needs Node and Biome (npm install --no-package-lock)"
)


@pytest.fixture
def joined(monkeypatch, tmp_path):
    """A file for each component: its scripts joined to one module, as they are declared to Streamlit."""
    files, component = [], st.components.v2.component

    def written(name, *, js, **rest):
        path = tmp_path / f"{name}.mjs"
        path.write_text(f"{js}\n{USED}\n", encoding="utf-8")
        files.append(path)
        return component(name, js=js, **rest)  # a module that is imported here first keeps what it gets

    monkeypatch.setattr(st.components.v2, "component", written)
    for module in sorted((ROOT / "nona" / "app").rglob("*.py")):
        if re.search(r"^_\w*component = declare\(", module.read_text(encoding="utf-8"), re.M):
            runpy.run_path(str(module))
    return files


def told(*command, folder=ROOT):
    """What a program says if it finds something wrong; nothing if all is well."""
    words = [str(c) for c in command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_every_script_belongs_to_a_component(joined):
    text = "\n".join(file.read_text(encoding="utf-8") for file in joined)
    assert [s.name for s in SCRIPTS if s.read_text(encoding="utf-8") not in text] == []


@needs_node
def test_node_can_read_every_module(joined):
    assert "".join(told(NODE, "--check", file) for file in [*joined, REPORT]) == ""


@needs_biome
def test_biome_finds_nothing_in_a_file():
    assert told(BIOME, "ci", "--error-on-warnings", "--colors=off", "nona") == ""


@needs_biome
def test_no_name_is_unknown_unused_or_taken_twice_in_a_module(joined):
    only = [option for rule in NAMES for option in ("--only", rule)]
    assert told(BIOME, "lint", "--error-on-warnings", "--colors=off", *only, folder=joined[0].parent) == ""
