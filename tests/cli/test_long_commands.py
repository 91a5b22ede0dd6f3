"""Long commands: a line of progress on a terminal alone; who interrupts them sees what is known by then."""

import io
import json
import sys

import pytest
from calling import ONE_MODEL

from nona.cli.main import main
from nona.cli.output import ProgressLine
from nona.study import capacity as search


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_line_is_rewritten_on_a_terminal_alone_and_ends_once():
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        line = ProgressLine(stream=stream)
        line.tell("nona, 8 servers")
        line.tell("nona, 16 servers", 1.0)
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
        ("capacity slides_example --scheduler opportunistic --hit 97%", "opportunistic, 3 servers"),
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


def interrupt_after(counts, monkeypatch):
    """Interrupt the search when it asks for one count more; the list gets those that were simulated."""
    looked = []
    usual = search.simulated_count

    def simulated(study, *rest):
        if len(looked) == counts:
            raise KeyboardInterrupt
        looked.append(study.system.servers)
        return usual(study, *rest)

    monkeypatch.setattr(search, "simulated_count", simulated)
    return looked


def test_capacity_prints_the_counts_that_were_tried(capacity, monkeypatch, capsys):
    looked = interrupt_after(2, monkeypatch)
    asked = [*capacity, "opportunistic", "--scheduler", "jsq-d"]
    assert main([*asked, "--json"]) == 130
    told = capsys.readouterr()
    assert told.err.strip().splitlines() == ["warning: interrupted; what follows is what was known by then"]
    report = json.loads(told.out)
    first, second = report["devices"]
    assert [t["servers"] for t in first["tried"]] == sorted(looked)
    assert (first["scheduler"], first["finished"], first["servers"]) == ("opportunistic", False, None)
    assert (second["scheduler"], second["finished"], second["tried"]) == ("jsq-d", False, [])
    assert report["best"] is None
    looked.clear()
    assert main(asked) == 130
    out = capsys.readouterr().out
    assert "opportunistic with l4: the search has not finished" in out
    assert "jsq-d with l4: the search has not begun" in out


def test_an_answer_that_was_found_before_is_printed_and_else_nothing(capacity, monkeypatch, capsys):
    interrupt_after(0, monkeypatch)
    assert main([*capacity, "local", "--scheduler", "jsq-d", "--hit", "80%", "--json"]) == 130
    report = json.loads(capsys.readouterr().out)
    assert report["best_scheduler"] == "local"
    assert [d["finished"] for d in report["devices"]] == [True, False]
    assert main([*capacity, "jsq-d"]) == 130
    assert capsys.readouterr() == ("", "nona: interrupted\n")
