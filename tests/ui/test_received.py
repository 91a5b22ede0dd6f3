"""Files in the server's memory: bounded while a session is there, dropped when it has gone."""

from __future__ import annotations

import pytest
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from nona.errors import GraphError
from nona.foreign import files as limits
from nona.ui.session import uploads
from nona.ui.session.uploads import GONE_S, Received, Uploads


def _file(name: str, size: int) -> UploadedFileRec:
    return UploadedFileRec(name, f"{name}.onnx", "", b"x" * size)


def _bytes(held: MemoryUploadedFileManager) -> int:
    return sum(len(f.data) for files in held.file_storage.values() for f in files.values())


def test_files_that_no_page_takes_are_bounded_and_go_with_their_session() -> None:
    held, there = MemoryUploadedFileManager("/upload"), {"one", "two"}
    received = Received(held, there.__contains__, most_bytes=100, most_files=5)
    for number in range(12):
        held.add_file("one", _file(f"a{number}", 60))
        assert _bytes(held) <= 100
    for number in range(12):
        held.add_file("two", _file(f"b{number}", 1))
    assert [f.file_id for f in held.get_files("one", ["a10", "a11"])] == ["a11"]
    assert len(held.file_storage["two"]) == 5
    there.remove("one")
    assert received.sweep(0.0) == 0
    there.add("one")  # back in time
    assert received.sweep(GONE_S + 1) == 0
    there.remove("one")
    assert received.sweep(2 * GONE_S) == 0
    assert received.sweep(3 * GONE_S + 1) == 1
    assert list(held.file_storage) == ["two"]


def test_a_file_sent_again_replaces_the_former() -> None:
    held = MemoryUploadedFileManager("/upload")
    Received(held, lambda session: True, most_bytes=100)
    for _ in range(3):
        held.add_file("one", _file("a", 90))
    held.add_file("one", _file("b", 10))
    held.add_file("one", _file("a", 95))
    assert list(held.file_storage["one"]) == ["a"]
    held.add_file("one", _file("large", 200))
    assert list(held.file_storage["one"]) == ["large"], "the file that comes is never the one to go"


def test_the_files_of_a_session_are_bounded_together(monkeypatch) -> None:
    monkeypatch.setattr(uploads, "MOST_SESSION_BYTES", 100)
    held = Uploads()
    held.add("a.json", b"x" * 60)
    held.add("a.json", b"y" * 90)
    with pytest.raises(GraphError, match="at most 100 are kept"):
        held.add("b.json", b"x" * 20)
    assert held.names() == ("a.json",)
    assert limits.MOST_SESSION_BYTES < 2**29
