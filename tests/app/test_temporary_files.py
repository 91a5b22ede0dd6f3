"""Files of sessions: bounded in memory and on disk; a cleaner that empties their folder breaks no page."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from app_driver import go, run, state_of
from sizes import first
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from nona.app.server.browser import new_token
from nona.app.server.ending import OWNER, TemporaryRoot, sweep, temporary_folder
from nona.app.server.streamlit_private import GONE_S, FileStore
from nona.app.session.saving import WorkspaceStore
from nona.app.session.state import AppState
from nona.app.session.uploads import Uploads
from nona.app.session.workspace import Workspaces
from nona.core import foreign as limits
from nona.core.errors import GraphError, JobError
from nona.scenario.file import scenario_from_mapping

ROOT = Path(__file__).resolve().parents[2]
GRAPH = json.dumps({"nodes": [{"id": "a", "compute_ms": 2.0}]}).encode()
TRACE = b"t_s\n" + b"".join(b"%d.5\n" % i for i in range(40))
ARRIVALS = {"process": "trace", "trace": "arrivals.csv"}
USES_FILES = {
    "cluster": {"servers": [{"count": 1, "gpu": "t4"}]},
    "workload": [{"model": "tiny.json", "arrivals": ARRIVALS, "rate": "1/s"}],
    "simulation": {"jobs": 30, "replications": 1},
    "schedulers": ["local"],
}


def test_the_root_of_a_process_that_was_killed_is_swept_and_no_other(tmp_path):
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom nona.app.server.ending import TemporaryRoot\n"
        f"root = TemporaryRoot(Path({str(tmp_path)!r}))\nroot.make(root.reserve('job-'))\n"
        "print(root.path, flush=True)\nsys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as other:
        theirs = Path(other.stdout.readline().decode().strip())
        own = TemporaryRoot(tmp_path)
        job = own.make(own.reserve("job-"))
        foreign = tmp_path / "nona-notes"
        foreign.mkdir()
        assert sweep(tmp_path) == 0
        other.kill()
        other.wait()
    assert sweep(tmp_path) == 1
    assert [f.is_dir() for f in (theirs, job, foreign)] == [False, True, True]
    assert own.path.stat().st_mode & 0o077 == 0
    own.remove()
    assert not own.path.exists()


def test_a_link_is_not_followed_and_a_root_without_owner_waits(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (tmp_path / "nona-1-aa").symlink_to(kept)
    young, old = tmp_path / "nona-2-bb", tmp_path / "nona-3-cc"
    young.mkdir()
    old.mkdir()
    os.utime(old, (time.time() - 7200,) * 2)
    assert sweep(tmp_path) == 1
    assert [f.is_dir() for f in (kept, young, old)] == [True, True, False]


def test_what_a_cleaner_removed_is_made_again(tmp_path):
    root = TemporaryRoot(tmp_path)
    folder = root.make(root.reserve("uploads-"))
    shutil.rmtree(root.path)
    assert root.make(folder) == folder
    assert (root.path / OWNER).is_file()
    assert sweep(tmp_path) == 0
    root.remove()


def test_a_full_or_unwritable_folder_is_one_line_and_the_files_of_a_session_are_bounded_together(monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    own = Uploads()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", full)
        with pytest.raises(JobError, match=r"No space left on device.*TMPDIR"):
            temporary_folder("job-", JobError)
        with pytest.raises(GraphError, match="No space left"):
            own.add("a.json", b"{}")
    with monkeypatch.context() as patch:
        patch.setattr("nona.app.session.uploads.write_whole", full)
        with pytest.raises(GraphError, match=r"'a.json': it cannot be kept.*No space left"):
            own.add("a.json", b"{}")
    assert own.names() == own.lost() == ()
    monkeypatch.setattr("nona.app.session.uploads.MOST_SESSION_BYTES", 100)
    held = Uploads()
    held.add("a.json", b"x" * 60)
    held.add("a.json", b"y" * 90)
    with pytest.raises(GraphError, match="more than 100"):
        held.add("b.json", b"x" * 20)
    assert held.names() == ("a.json",)
    assert limits.MOST_SESSION_BYTES < 2**29


def test_visits_leave_no_folders():
    root, held = Path(temporary_folder("probe-", JobError)).parent, Workspaces()
    before = set(root.iterdir())
    for _ in range(200):
        held.open(None)
    assert set(root.iterdir()) == before


def with_files(at):
    state = state_of(at)
    state.uploads.add("tiny.json", GRAPH)
    state.uploads.add("arrivals.csv", TRACE)
    state.adopt(scenario_from_mapping(USES_FILES))
    return state


@pytest.mark.parametrize("whole", first(1, [True, False]))
def test_pages_say_what_a_cleaner_removed(open_page, whole):
    at = open_page("models")
    state = with_files(at)
    run(go(at, "simulation"), "simulate")
    job_folders = list(state.uploads.folder.parent.glob("job-*"))
    assert job_folders
    if whole:
        shutil.rmtree(state.uploads.folder.parent)
    else:
        (state.uploads.folder / "tiny.json").unlink()
    for page in ("models", "scenario", "placement", "simulation"):
        go(at, page)
        told = next(m.value for m in at.markdown if "temporary folder" in m.value)
        assert "tiny.json" in told
        assert ("arrivals.csv" in told) == whole
    assert at.button(key="run-simulate").disabled
    with_files(at)
    go(at, "models")
    assert not any("temporary folder" in m.value for m in at.markdown)
    run(go(at, "simulation"), "simulate")
    assert state.results["simulate"].fingerprint == state.fingerprint("simulate")


def test_files_come_back_from_the_saved_workspace(tmp_path):
    state, token, store = AppState(), new_token(), WorkspaceStore(tmp_path)
    state.uploads.add("tiny.json", GRAPH)
    state.uploads.add("other.json", b"{}")
    store.watch(token, state)
    store.flush()
    (state.uploads.folder / "other.json").unlink()
    state.edit(("seed",), 7)
    store.flush()
    assert state.uploads.names() == ("other.json", "tiny.json")
    shutil.rmtree(state.uploads.folder.parent)
    store.flush()
    assert state.uploads.names() == ("other.json", "tiny.json")
    state.uploads.remove("other.json")
    store.flush()
    again = WorkspaceStore(tmp_path).load(token)
    assert again.uploads.names() == ("tiny.json",)


def _file(name, size):
    return UploadedFileRec(name, f"{name}.onnx", "", b"x" * size)


def _bytes(held):
    return sum(len(f.data) for files in held.file_storage.values() for f in files.values())


def test_files_that_no_page_takes_are_bounded_go_with_their_session_and_are_replaced():
    held, there = MemoryUploadedFileManager("/upload"), {"one", "two"}
    received = FileStore(held, there.__contains__, most_bytes=100, most_files=5)
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
    held = MemoryUploadedFileManager("/upload")
    FileStore(held, lambda session: True, most_bytes=100)
    for _ in range(3):
        held.add_file("one", _file("a", 90))
    held.add_file("one", _file("b", 10))
    held.add_file("one", _file("a", 95))
    assert list(held.file_storage["one"]) == ["a"]
    held.add_file("one", _file("large", 200))
    assert list(held.file_storage["one"]) == ["large"], "the file that comes is never the one to go"
