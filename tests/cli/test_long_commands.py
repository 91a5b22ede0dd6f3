"""Long commands: a line of progress on a terminal alone; who interrupts them sees what is known by then."""

import io
import json
import sys

import pytest
from calling import ONE_MODEL

from nona.cli.main import main
from nona.cli.output import ProgressReport
from nona.planning import planner


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_line_is_rewritten_on_a_terminal_alone_and_ends_once():
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        line = ProgressReport(stream=stream)
        line.report("nona, 8 servers")
        line.report("nona, 16 servers", 1.0)
        line.end()
    assert pipe.getvalue() == ""
    told = terminal.getvalue()
    assert told.startswith("\r")
    assert "nona, 8 servers" in told
    assert "100.0%  nona, 16 servers" in told
    assert told.endswith("\n")
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("place slides_example --objective slo", "solving the placement"),
        (
            "capacity slides_example --scheduler opportunistic --hit 97% --workers 1",
            "Simulating 2 × a100-40gb, opportunistic",
        ),
    ],
)
def test_long_commands_say_what_they_do(arguments, told, monkeypatch, capsys):
    for more, wanted in (((), True), (("--json",), False)):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        assert main([*arguments.split(), *more]) == 0
        assert (told in terminal.getvalue()) == wanted
        assert "\r" not in capsys.readouterr().out


@pytest.fixture
def capacity(tmp_path):
    """The words that ask for the fewest servers, but for the schedulers."""
    (tmp_path / "s.yaml").write_text(ONE_MODEL.replace("800", "200"))
    return ["capacity", str(tmp_path / "s.yaml"), "--scheduler"]


def interrupt_at(reached, monkeypatch):
    """Interrupt the first look of which ``reached`` holds: at how many options, after how many looks."""
    looks = []
    usual = planner.run_work

    def run_work(work, keys, *rest):
        options = {number for number, _ in keys}
        if reached(len(options), len(looks)):
            raise KeyboardInterrupt
        looks.append(options)
        return usual(work, keys, *rest)

    monkeypatch.setattr(planner, "run_work", run_work)


def test_capacity_prints_the_counts_that_were_tried(capacity, monkeypatch, capsys):
    interrupt_at(lambda options, looks: looks == 1, monkeypatch)
    asked = [*capacity, "opportunistic", "--scheduler", "jsq-d", "--workers", "1"]
    assert main([*asked, "--json"]) == 130
    told = capsys.readouterr()
    assert told.err.strip().splitlines() == ["warning: interrupted; what follows is what was known by then"]
    report = json.loads(told.out)
    simulated = [[t for t in d["tried"] if t["miss"] is not None] for d in report["devices"]]
    assert [len(counts) for counts in simulated] == [1, 1]  # one look at one number of servers each
    assert [(d["finished"], d["servers"]) for d in report["devices"]] == [(False, None)] * 2
    assert report["best"] is None
    interrupt_at(lambda options, looks: looks == 1, monkeypatch)
    assert main(asked) == 130
    assert "The search is not complete" in capsys.readouterr().out


def test_an_answer_that_was_found_before_is_printed(capacity, monkeypatch, capsys):
    interrupt_at(lambda options, looks: options == 1 and looks, monkeypatch)
    asked = [*capacity, "opportunistic", "--scheduler", "spread", "--hit", "80%", "--workers", "1"]
    assert main([*asked, "--json"]) == 130
    report = json.loads(capsys.readouterr().out)
    assert sum(d["finished"] for d in report["devices"]) == 1
