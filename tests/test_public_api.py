"""The Python API: every public name is there, and the examples need no other."""

import ast
import inspect
from pathlib import Path

import pytest

import nona

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("name", nona.__all__)
def test_a_public_name_is_there_and_says_what_it_is(name):
    assert name in dir(nona)
    found = getattr(nona, name)
    if inspect.isclass(found) or inspect.isfunction(found):
        assert inspect.getdoc(found), name
        assert found.__name__ == name


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_imports_the_public_names_only(example):
    for node in ast.walk(ast.parse(example.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert not (node.module or "").startswith("nona"), node.module
        elif isinstance(node, ast.Import):
            assert all(not alias.name.startswith("nona.") for alias in node.names)
