"""Files that commands write: tried before the work, and an older file stays whole until the new one is."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

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
