"""The command line itself: declarations and options, help, completion, `--workers`, exit statuses."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace

import click
import pytest
from calling import ALL, answer, text
from click.shell_completion import ShellComplete

from nona.cli import declared, lists
from nona.cli.main import main, nona
from nona.models.contraction.rules import RULES
from nona.scenario.sample_files import sample_names, scenario_names


def completions(*words):
    *before, last = words
    return [item.value for item in ShellComplete(nona, {}, "nona", "_").get_completions(before, last)]


@pytest.mark.parametrize("path", [(), ("study",), *ALL], ids=lambda p: " ".join(p) or "nona")
def test_help_explains_every_option(path, capsys):
    shown = text(capsys, *path, "--help")
    assert path or shown == text(capsys, "-h")
    for parameter in ALL[path].params if path in ALL else ():
        if isinstance(parameter, click.Option):
            assert parameter.opts[0] in shown
            assert parameter.help


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [(KeyboardInterrupt(), 130, "nona: interrupted\n"), (BrokenPipeError(), 141, "")],
)
def test_an_end_from_outside_has_its_status(error, status, said, monkeypatch, capsys):
    def ended(arguments):
        raise error

    monkeypatch.setattr(lists, "devices", ended)
    assert main(["devices"]) == status
    assert capsys.readouterr().err == said


def test_a_shell_completes_commands_options_and_names():
    assert completions("") == list(nona.commands)
    assert completions("study", "") == [path[1] for path in ALL if path[0] == "study"]
    assert "--warmup" in completions("simulate", "slides_example", "--w")
    assert completions("simulate", "") == list(scenario_names())
    assert completions("inspect", "") == list(sample_names())
    assert completions("inspect", "resnet18", "--device", "a100") == ["a100-40gb", "a100-80gb"]
    assert completions("simulate", "slides_example", "--scheduler", "nona-") == ["nona-d2", "nona-live"]
    assert completions("simulate", "slides_example", "--baseline", "nona-") == ["nona-d2", "nona-live"]
    assert completions("study", "prediction", "--scenario", "slides") == ["slides_example"]
    file = ShellComplete(nona, {}, "nona", "_").get_completions(["place"], "./mine")
    assert [item.type for item in file] == ["file"]


def test_what_a_program_registers_counts_at_once(capsys):
    words = ("contract", "resnet18", "--rule", "my")
    assert completions(*words) == []
    with RULES.registered(replace(RULES["poset"], name="my-own")):
        assert completions(*words) == ["my-own"]
        assert "|my-own]" in text(capsys, "contract", "--help")
        assert answer(capsys, *words[:3], "my-own")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell, capfd):
    assert main(["completion", shell]) == 0
    script = capfd.readouterr().out
    assert "_NONA_COMPLETE" in script
    if program := shutil.which(shell):
        subprocess.run([program, "-n"], input=script, text=True, check=True)


def test_a_script_asks_by_its_variable():
    asked = {"_NONA_COMPLETE": "bash_complete", "COMP_WORDS": "nona place slides", "COMP_CWORD": "2"}
    command, options = [sys.executable, "-m", "nona.cli.main"], {"capture_output": True, "text": True}
    done = subprocess.run(command, env=os.environ | asked, check=True, **options)
    assert done.stdout == "plain,slides_example\n"


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)


def taken(*arguments):
    found = []

    option = declared.WORKERS.parameter("workers", "int")
    command = click.Command("it", params=[option], callback=lambda workers: found.append(workers))
    command.main(list(arguments), standalone_mode=False)
    return found[0]


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize(("asked", "used"), [("1", 1), ("2", 2), ("3", 2), ("100000", 2)])
def test_no_more_processes_than_cores(asked, used, capsys):
    assert taken("--workers", asked) == used
    err = capsys.readouterr().err
    assert err.count("\n") == (int(asked) > 2)
    assert (f"--workers {asked} is more than the cores" in err) == (int(asked) > 2)


@pytest.mark.usefixtures("two_cores")
def test_a_real_command_warns_once_and_every_command_that_has_the_option_has_the_cap(capsys):
    small = ["--jobs", "30", "--replications", "1", "--scheduler", "local"]
    assert main(["simulate", "slides_example", *small, "--workers", "100000", "--json"]) == 0
    assert capsys.readouterr().err.count("--workers 100000") == 1
    found = [p for command in ALL.values() for p in command.params if "--workers" in p.opts]
    assert len(found) > 5
    assert all(p.callback is declared.at_most_cores for p in found)
