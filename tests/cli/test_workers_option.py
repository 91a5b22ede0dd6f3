"""``--workers``: never more processes than cores, whatever the command."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click
import pytest

from nona.cli.commands import group as common
from nona.cli.main import main, nona


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)


def taken(*arguments: str) -> int:
    found: list[int] = []

    @click.command()
    @common.workers
    def command(workers: int) -> None:
        found.append(workers)

    command.main(list(arguments), standalone_mode=False)
    return found[0]


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize(("asked", "used"), [("1", 1), ("2", 2), ("3", 2), ("100000", 2)])
def test_no_more_processes_than_cores(asked: str, used: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert taken("--workers", asked) == used
    err = capsys.readouterr().err
    assert err.count("\n") == (int(asked) > 2)
    assert (f"--workers {asked} is more than the cores" in err) == (int(asked) > 2)


@pytest.mark.usefixtures("two_cores")
def test_a_real_command_warns_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "slides_example", "--jobs", "300", "--workers", "100000", "--json"]) == 0
    assert capsys.readouterr().err.count("--workers 100000") == 1


def options(command: click.Command) -> Iterator[click.Parameter]:
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield from options(inner)
    yield from (p for p in command.params if "--workers" in p.opts)


def test_every_command_that_has_the_option_has_the_cap() -> None:
    found = list(options(nona))
    assert len(found) > 5
    assert all(p.callback is common.at_most_cores for p in found)
