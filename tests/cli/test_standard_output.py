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
SIMULATE = ("simulate", "slides_example", "--scheduler", "local", "--jobs", "300", "--engine", "simpy")
COMMANDS = ["devices", "--help", "inspect gpt2 --json", "models --json", "--version", "completion bash"]
needs_full = pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")


def run(command, stdout, **environment):
    """``nona`` with this standard output."""
    return subprocess.run(
        [sys.executable, "-m", "nona", *command],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        cwd=import_root(),
        env=os.environ | environment,
    )


@needs_full
@pytest.mark.parametrize("command", first(3, COMMANDS))
def test_a_full_device_is_one_line(command):
    with FULL.open("w") as full:
        done = run(tuple(command.split()), full.fileno())
    assert done.returncode == 1
    assert done.stderr == ("nona: output cannot be written: No space left on device; choose another place\n")


@needs_full
def test_a_full_device_without_a_buffer_is_one_line():
    with FULL.open("w") as full:
        done = run(("devices",), full.fileno(), PYTHONUNBUFFERED="1")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(os.name != "posix", reason="broken pipes")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_gone_ends_the_program_without_a_word(unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    done = run(("devices",), writer, PYTHONUNBUFFERED=unbuffered)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@needs_full
@pytest.mark.parametrize("option", first(1, ["--records", "--html", "--trace"]))
def test_a_file_on_a_full_disk_is_one_line_after_the_result(option, tmp_path):
    link = tmp_path / "a.parquet"
    link.symlink_to(FULL)
    with (tmp_path / "out").open("w") as out:
        done = run((*SIMULATE, option, str(link)), out.fileno())
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"nona: File {str(link)!r}: ")
    assert done.stderr.endswith("o space left on device; choose another place.\n")
    assert (tmp_path / "out").read_text().strip()


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


def test_the_program_itself_says_so_too():
    done = subprocess.run(
        [sys.executable, "-m", "nona.cli.main", "place", "größe→.yaml"],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") == 1
