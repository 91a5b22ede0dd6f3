"""Terminals that are not in UTF-8: the text in plain letters, never a traceback."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from nona.cli.main import main

COMMANDS = {
    "table": ["inspect", "gpt2"],
    "lists": ["schedulers"],
    "help": ["--help"],
    "help of a command": ["simulate", "--help"],
    "error": ["inspect", "größe→.json"],
    "half a letter": ["place", "\udcff.yaml"],
    "symbol": ["inspect", "gpt2", "--symbol", "²=²"],
}


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_terminal_without_utf_8_gets_plain_letters(command, encoding, monkeypatch) -> None:
    streams = {name: io.TextIOWrapper(io.BytesIO(), encoding) for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    status = main(command)
    for stream in streams.values():
        stream.flush()
    said = "".join(stream.buffer.getvalue().decode(encoding) for stream in streams.values())
    assert said.strip()
    assert status in (0, 2)


def test_the_program_itself_says_so_too() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nona.cli.main", "place", "größe→.yaml"],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") == 1
