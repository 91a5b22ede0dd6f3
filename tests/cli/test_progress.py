"""One line of progress for long commands: on a terminal, and nowhere else."""

from __future__ import annotations

import io
import sys

import pytest

from nona.cli.main import main
from nona.cli.output import ProgressLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_is_rewritten_on_a_terminal_alone() -> None:
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        line = ProgressLine(stream=stream)
        line.tell("nona, 8 servers")
        line.tell("nona, 16 servers")
        line.end()
    assert pipe.getvalue() == ""
    told = terminal.getvalue()
    assert told.startswith("\r")
    assert "nona, 8 servers" in told
    assert "nona, 16 servers" in told
    assert told.endswith("\n")


def test_the_last_line_ends_once() -> None:
    terminal = Terminal()
    line = ProgressLine(stream=terminal)
    line.tell("nona", 1.0)
    line.end()
    assert terminal.getvalue().count("\n") == 1
    assert terminal.getvalue().startswith("\r100.0%  nona")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("place", "slides_example", "--objective", "slo"), "solving the placement"),
        (("capacity", "slides_example", "--hit", "97%", "--simulate"), "nona, 2 servers"),
    ],
)
def test_long_commands_say_what_they_do(
    arguments: tuple[str, ...], told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for more, wanted in (((), True), (("--json",), False)):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        assert main([*arguments, *more]) == 0
        assert (told in terminal.getvalue()) == wanted
        assert "\r" not in capsys.readouterr().out
