"""Standard output that is full, closed, unread, or not in UTF-8: one line or none, never a traceback."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sizes import first

from nona import import_root
from nona.cli.main import main

FULL = Path("/dev/full")
COMMANDS = ["devices", "--help", "inspect gpt2 --json", "models --json", "--version", "completion bash"]
needs_full = pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")


def run(command, stdout, **environment):
    place = {"cwd": import_root(), "env": os.environ | environment}
    whole, pipe = [sys.executable, "-m", "nona", *command], subprocess.PIPE
    return subprocess.run(whole, stdout=stdout, stderr=pipe, text=True, check=False, **place)


@needs_full
@pytest.mark.parametrize(
    ("command", "unbuffered"), [("devices", "1"), *first(3, [(c, "") for c in COMMANDS])]
)
def test_a_full_device_is_one_line(command, unbuffered):
    with FULL.open("w") as full:
        done = run(tuple(command.split()), full.fileno(), PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 1
    assert done.stderr == "nona: output cannot be written: No space left on device; choose another place\n"


@pytest.mark.skipif(os.name != "posix", reason="broken pipes")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_gone_ends_the_program_without_a_word(unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    done = run(("devices",), writer, PYTHONUNBUFFERED=unbuffered)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(os.name != "posix", reason="closes a descriptor in the child")
def test_a_closed_standard_output_is_no_error():
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.stdout = None; from nona.cli.main import main; "
         "sys.exit(main(['training', 'generate', '--jobs', '10']))"],
        stderr=subprocess.PIPE, text=True, check=False, cwd=import_root(),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


LETTERS = {
    "table": ["inspect", "gpt2"],
    "lists": ["schedulers"],
    "help": ["--help"],
    "help of a command": ["simulate", "--help"],
    "error": ["inspect", "größe→.json"],
    "half a letter": ["place", "\udcff.yaml"],
    "symbol": ["inspect", "gpt2", "--symbol", "²=²"],
}


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("command", LETTERS.values(), ids=LETTERS)
def test_a_terminal_without_utf_8_gets_plain_letters(command, encoding, monkeypatch):
    streams = {name: io.TextIOWrapper(io.BytesIO(), encoding) for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    status = main(command)
    for stream in streams.values():
        stream.flush()
    said = "".join(stream.buffer.getvalue().decode(encoding) for stream in streams.values())
    assert said.strip()
    assert status in (0, 2)


@pytest.mark.verify
def test_the_program_itself_says_so_too():
    done = run(("place", "größe→.yaml"), subprocess.PIPE, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
