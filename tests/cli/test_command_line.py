"""The command line itself: declarations and their options, help, completion, refusals, exit statuses."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields

import click
import pytest
from click.shell_completion import ShellComplete

from nona.cli import lists, options
from nona.cli import options as planning_options
from nona.cli import options as saved_options
from nona.cli import options as training_options
from nona.cli.main import main, nona
from nona.placement.solver.comparison import solve_slsqp
from nona.placement.solver.registry import SOLVERS, Solver
from nona.sources.samples import sample_names, scenario_names


def commands(
    group: click.Group, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


ALL = dict(commands(nona))


def completions(*words: str) -> list[str]:
    *before, last = words
    return [item.value for item in ShellComplete(nona, {}, "nona", "_").get_completions(before, last)]


@pytest.mark.parametrize("path", [p for p in ALL if p != ("completion",)], ids=" ".join)
def test_an_options_object_has_what_its_command_declares(path: tuple[str, ...]) -> None:
    command = ALL[path]
    assert command.callback is not None
    name = command.callback.__annotations__["options"]
    homes = (options, planning_options, saved_options, training_options)
    kind = next(getattr(home, name) for home in homes if hasattr(home, name))
    assert {f.name for f in fields(kind)} == {p.name for p in command.params if p.expose_value}
    assert kind.__dataclass_params__.frozen


@pytest.mark.parametrize("path", [(), ("study",), *ALL], ids=lambda p: " ".join(p) or "nona")
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_explains_every_option(
    path: tuple[str, ...], option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*path, option]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    for parameter in ALL[path].params if path in ALL else ():
        if isinstance(parameter, click.Option):
            assert parameter.opts[0] in shown.out
            assert parameter.help


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "nona: missing command; see `nona --help`"),
        (["study"], "nona study: missing command; see `nona study --help`"),
        (["frobnicate"], "choose one of app, inspect"),
        (["place"], "nona place: missing argument 'SCENARIO'; see `nona place --help`"),
        (["simulate", "slides_example", "--jobs"], "nona simulate: option '--jobs' requires an argument"),
        (["simulate", "slides_example", "--html", "--json"], "--html needs a value before --json"),
        (["simulate", "slides_example", "--jobs", "x"], "--jobs 'x' must be a whole number"),
        (["simulate", "slides_example", "--workers", "0"], "--workers 0 must be at least 1; give a larger"),
        (["app", "--port", "65536"], "--port 65536 must be at most 65535; give a smaller number"),
        (["contract", "resnet18", "--rule", "magic"], "choose one of direct, poset, size-aware, cost-aware"),
        (["devices", "--jsom"], "did you mean '--json'?"),
        (["completion", "foo"], "nona completion: shell 'foo' is not known; give one of bash, zsh, fish"),
    ],
)
def test_what_cannot_be_understood_is_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.splitlines()) == 1
    assert words.lower() in told.err.lower()


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [(KeyboardInterrupt(), 130, "nona: interrupted\n"), (BrokenPipeError(), 141, "")],
)
def test_an_end_from_outside_has_its_status(
    error: BaseException,
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def ended(arguments: object) -> None:
        raise error

    monkeypatch.setattr(lists, "devices", ended)
    assert main(["devices"]) == status
    assert capsys.readouterr().err == said


def test_a_shell_completes_commands_options_and_names() -> None:
    assert completions("") == list(nona.commands)
    assert completions("study", "") == [
        "paper",
        "prediction",
        "decisions",
        "network-views",
        "serverless",
        "estimator",
        "training",
        "elastic",
        "elastic-link",
    ]
    assert "--warmup" in completions("simulate", "slides_example", "--w")
    assert completions("simulate", "") == list(scenario_names())
    assert completions("inspect", "") == list(sample_names())
    assert completions("inspect", "resnet18", "--device", "a100") == ["a100-40gb", "a100-80gb"]
    assert completions("simulate", "slides_example", "--scheduler", "nona-") == ["nona-d2", "nona-live"]
    assert completions("simulate", "slides_example", "--baseline", "nona-") == ["nona-d2", "nona-live"]
    assert completions("study", "prediction", "--scenario", "slides") == ["slides_example"]
    file = ShellComplete(nona, {}, "nona", "_").get_completions(["place"], "./mine")
    assert [item.type for item in file] == ["file"]


def test_what_a_program_registers_counts_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("place", "slides_example", "--solver", "my")
    assert completions(*words) == []
    with SOLVERS.registered(Solver("my-own", "SLSQP again.", solve_slsqp)):
        assert completions(*words) == ["my-own"]
        assert main(["place", "--help"]) == 0
        assert "|my-own]" in capsys.readouterr().out
        assert main([*words[:3], "my-own", "--json"]) == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capfd.readouterr().out
    assert "_NONA_COMPLETE" in script
    if program := shutil.which(shell):
        subprocess.run([program, "-n"], input=script, text=True, check=True)


def test_a_script_asks_by_its_variable() -> None:
    asked = {"_NONA_COMPLETE": "bash_complete", "COMP_WORDS": "nona place slides", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-m", "nona.cli.main"],
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "plain,slides_example\n"


@pytest.mark.parametrize("arguments", [["--help"], ["inspect", "--help"], ["devices", "--json"]])
def test_help_and_lists_start_without_the_modules_that_work(arguments: list[str]) -> None:
    heavy = ("numba", "scipy", "pandas", "streamlit", "nona.study")
    program = (
        "import sys; from nona.cli.main import main; main(sys.argv[1:]);"
        f"print([m for m in {heavy} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"
