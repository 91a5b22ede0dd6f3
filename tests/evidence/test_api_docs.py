"""The Python API as HTML: every public name with its docstring, and no warning."""

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nona
from evidence.api_docs import write_api


def test_every_public_name_has_a_section_with_its_docstring(tmp_path):
    command = [sys.executable, "-m", "evidence.api_docs", str(tmp_path)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "nona.html").read_text("utf-8")
    parts = re.split(r'<section id="(\w+)">', page)[1:]
    texts = (" ".join(html.unescape(re.sub(r"<[^>]+>", "", part)).split()) for part in parts[1::2])
    sections = dict(zip(parts[::2], texts, strict=True))
    assert set(sections) == set(nona.__all__)
    for name in ("read_model", "contract", "sweep"):
        assert getattr(nona, name).__doc__.partition("\n")[0] in sections[name]


def test_a_warning_is_an_error(tmp_path, monkeypatch):
    def broken(value: "Nowhere"):  # noqa: F821
        """Take a value of a type that nobody defines."""

    monkeypatch.setattr(nona, "place", broken, raising=False)
    with pytest.raises(Warning, match="Nowhere"):
        write_api(tmp_path)
