"""Files that commands write: tried before the work, and an older file stays whole until the new one is."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import click
import pandas as pd
import pytest

from nona.cli.main import COMMANDS, main
from nona.cli.parameters import OutputFile
from nona.errors import ReportError
from nona.study.exports import check_places, write_bytes, write_job_table


def test_a_place_that_cannot_be_written_is_found_by_the_check_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="choose another place"):
        check_places(tmp_path / ("x" * 300))
    old = tmp_path / "old.html"
    old.write_text("old")
    check_places(old, tmp_path / "new.html")
    assert [p.name for p in tmp_path.iterdir()] == ["old.html"]
    assert old.read_text() == "old"


def test_an_older_table_stays_whole_when_writing_breaks_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("old")

    def broken(_: pd.DataFrame, place: Path, **__: object) -> None:
        place.write_text("fragm")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", broken)
    with pytest.raises(ReportError, match="No space left on device; choose another place"):
        write_job_table(path, pd.DataFrame({"model": ["a"]}))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link_the_mode_stays_and_a_full_device_is_one_line(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_bytes(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640
    if Path("/dev/full").exists():
        with pytest.raises(ReportError, match="No space left on device"):
            write_bytes(Path("/dev/full"), b"x" * 10)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_without_a_reader_does_not_stop_the_check(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_places(pipe)  # opened for writing it would wait for ever
    assert list(tmp_path.iterdir()) == [pipe]


SMALL = ("--jobs", "300", "--replications", "2", "--engine", "simpy")
SWEEP = ("sweep", "slides_example", "--key", "load", "--values", "0.5,1", "--values-only", *SMALL)
SECOND = ("--second", "cluster.servers[0].count", "--second-values", "3")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("place", "slides_example"), "--html"),
        (("simulate", "slides_example", *SMALL), "--html"),
        (SWEEP, "--csv"),
        ((*SWEEP, *SECOND), "--csv"),
        (("study", "paper", "--shipped"), "--csv"),
        (("study", "paper", "--shipped"), "--html"),
        (("study", "decisions", "--shipped"), "--csv"),
    ],
)
def test_the_result_is_printed_although_its_file_cannot_be_written_in_the_end(
    words: tuple[str, ...], option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--json", option, "/dev/full"]) == 2
    told = capsys.readouterr()
    assert json.loads(told.out)
    assert "No space left on device" in told.err


def leaves(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command, or those of a group, with the words that call it."""
    words = (*path, command.name or "")
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield from leaves(inner, words)
    else:
        yield words, command


OUTPUTS = [
    (words, max(parameter.opts, key=len))
    for command in COMMANDS
    for words, leaf in leaves(command)
    for parameter in leaf.params
    if isinstance(parameter.type, OutputFile)
]
# What must be given besides, so that nothing else is refused.
NEEDED = {
    "bundle": ["slides_example"],
    "measure": ["no_such_model"],
    "plan": ["slides_example"],
    "saved bundle": ["1"],
    "place": ["slides_example"],
    "simulate": ["slides_example"],
    "serverless": ["strict_light"],
    "sweep": ["slides_example", "--key", "load", "--values", "1"],
    "training simulate": ["shared_research_cluster"],
}


def paths_of() -> set[tuple[str, str]]:
    """Every command with each of its paths that is no output."""
    return {
        (" ".join(words), max(parameter.opts, key=len))
        for command in COMMANDS
        for words, leaf in leaves(command)
        for parameter in leaf.params
        if isinstance(parameter.type, click.Path) and not isinstance(parameter.type, OutputFile)
    }


def test_every_path_that_a_command_takes_is_read_or_is_an_output() -> None:
    read = {
        ("app", "--password-file"),
        ("training allocate", "file"),
        ("saved import", "file"),
        ("plan", "--profile"),
    }
    read.add(("training elastic", "--profiles"))
    folders = {words for words, option in paths_of() if option == "--store"}  # data bases that grow
    assert {"app", "simulate", "saved list", "saved import"} <= folders
    assert {path for path in paths_of() if path[1] != "--store"} == read
    assert {option for _, option in OUTPUTS} == {
        "--output",
        "--html",
        "--records",
        "--trace",
        "--csv",
        "--parquet",
        "--export-profile",
    }


@pytest.mark.parametrize(("words", "option"), OUTPUTS, ids=[" ".join((*w, o)) for w, o in OUTPUTS])
def test_a_file_that_exists_is_refused_before_the_work(
    words: tuple[str, ...], option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old"
    old.write_text("old")
    more = NEEDED.get(" ".join(words), [])
    assert main([*words, *more, option, str(old)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.splitlines()) == 1
    assert str(old) in told.err
    assert "add --force" in told.err
    assert old.read_text() == "old"


def test_force_overwrites_and_devices_are_not_asked_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, link = tmp_path / "old.html", tmp_path / "link.html"
    old.write_text("old")
    link.symlink_to(old)
    place = ["place", "slides_example", "--html"]
    assert main([*place, str(link)]) == 2
    assert main([*place, str(old), "--force"]) == 0
    assert old.read_text().startswith("<!DOCTYPE html>")
    assert main(["--help"]) == 0  # what one call was told holds for it alone
    assert main([*place, str(old)]) == 2
    assert main([*place, os.devnull]) == 0
    capsys.readouterr()
    assert main(["inspect", "--force", "slides_example"]) == 2  # it writes no file
    assert "--force" in capsys.readouterr().err
