"""Files that commands write: tried before the work, and an older file stays whole until the new one is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd
import pytest

from nona.cli import basic
from nona.cli.main import main
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


@pytest.mark.parametrize("command", [("place",), ("simulate", "--jobs", "300")])
def test_the_result_is_printed_although_its_file_cannot_be_written_in_the_end(
    command: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(path: Path, _: str) -> None:
        raise ReportError(f"File {str(path)!r}: No space left on device; choose another place.")

    monkeypatch.setattr(basic, "write_text", full)
    name, *more = command
    assert main([name, "slides_example", *more, "--json", "--html", str(tmp_path / "a.html")]) != 0
    told = capsys.readouterr()
    assert json.loads(told.out)
    assert "No space left on device" in told.err
