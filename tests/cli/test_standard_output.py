"""Standard output that is full, closed, or read no more: one line or none, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nona import import_root

FULL = Path("/dev/full")
SIMULATE = ("simulate", "slides_example", "--scheduler", "local", "--jobs", "300", "--engine", "simpy")
COMMANDS = [
    ("devices",),
    ("models", "--json"),
    ("--help",),
    ("--version",),
    ("simulate", "-h"),
    ("completion", "bash"),
    ("training", "generate"),
    ("inspect", "googlenet", "--json"),
    (*SIMULATE, "--json"),
]
needs_full = pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")


def run(command: tuple[str, ...], stdout: int, **environment: str) -> subprocess.CompletedProcess[str]:
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
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_full_device_is_one_line(command: tuple[str, ...]) -> None:
    with FULL.open("w") as full:
        done = run(command, full.fileno())
    assert done.returncode == 1
    assert done.stderr == ("nona: output cannot be written: No space left on device; choose another place\n")


@needs_full
def test_a_full_device_without_a_buffer_is_one_line() -> None:
    with FULL.open("w") as full:
        done = run(("devices",), full.fileno(), PYTHONUNBUFFERED="1")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(os.name != "posix", reason="broken pipes")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", [("--help",), ("devices",), ("models", "--json")], ids=" ".join)
def test_a_reader_that_has_gone_ends_the_program_without_a_word(
    command: tuple[str, ...], unbuffered: str
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = run(command, writer, PYTHONUNBUFFERED=unbuffered)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@needs_full
@pytest.mark.parametrize("option", ["--html", "--trace", "--records"])
def test_a_file_on_a_full_disk_is_one_line_after_the_result(option: str, tmp_path: Path) -> None:
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
def test_a_closed_standard_output_is_no_error() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.stdout = None; from nona.cli.main import main; "
         "sys.exit(main(['training', 'generate', '--jobs', '10']))"],
        stderr=subprocess.PIPE, text=True, check=False, cwd=import_root(),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
