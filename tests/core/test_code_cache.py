"""A cache of compiled code that is damaged, foreign, full or read-only: compiled again, never a traceback."""

import os
import subprocess
import sys
from itertools import product

import pytest
from sizes import first, sized

from nona import import_root

MODULE = """
from nona.core.compiled.decorator import compiled

@compiled
def doubled(x):
    return 2 * x
"""
RUN = """
import doubling
from nona.core.compiled.decorator import compiled
answer = doubling.doubled(21)
again = compiled(doubling.doubled.py_func)
again(21)
print(answer, *(sum(f.stats.cache_hits.values()) for f in (doubling.doubled, again)))
"""
# The answer, and whether it was loaded at first and then.
COMPILED, LOADED, NOT_KEPT = "42 0 1", "42 1 1", "42 0 0"


DAMAGES = {
    "a bit flipped": lambda data: (
        data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 4]) + data[len(data) // 2 + 1 :]
    ),
    "cut short": lambda data: data[: len(data) // 2],
    "garbage": lambda data: b"\x80garbage" * (len(data) // 8),
    "empty": lambda data: b"",
}


class Cache:
    """A module with one small function, and the cache of its code."""

    def __init__(self, folder):
        self.module, self.folder = folder / "module", folder / "cache"
        self.module.mkdir()
        (self.module / "doubling.py").write_text(MODULE)

    def start(self, before="", **environment):
        paths = os.pathsep.join((str(self.module), str(import_root())))
        own = {"PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(self.folder)}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        command = [sys.executable, "-c", before + RUN]
        return subprocess.Popen(command, env=os.environ | own | environment, **pipes)

    def run(self, before="", **environment):
        """What a process prints: the answer with what was loaded, and its errors; it must end well."""
        process = self.start(before, **environment)
        answer, told = process.communicate()
        assert process.returncode == 0, told
        return answer.strip(), told.strip()

    def files(self, suffix="*"):
        return sorted(p for p in self.folder.rglob(f"*.{suffix}") if p.is_file())


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    made = Cache(tmp_path_factory.mktemp("code"))
    assert made.run() == (COMPILED, "")
    assert made.run() == (LOADED, "")  # by another process
    assert [p.suffix for p in made.files()] == [".nbc", ".nbi"]
    return made


@pytest.mark.parametrize(("what", "suffix"), first(2, product(DAMAGES, ("nbi", "nbc"))))
def test_a_damaged_file_is_compiled_again_and_replaced(cache, what, suffix):
    (file,) = cache.files(suffix)
    file.write_bytes(DAMAGES[what](file.read_bytes()))
    assert cache.run() == (COMPILED, "")


@pytest.mark.verify
def test_data_of_another_index_are_not_loaded(cache):
    """As after a crash between the writing of both, or with two writers."""
    (data,) = cache.files("nbc")
    before = data.read_bytes()
    (cache.module / "doubling.py").write_text(MODULE.replace("2 * x", "x + 21 + 0 * 7"))
    assert cache.run() == (COMPILED, "")
    data.write_bytes(before)
    assert cache.run() == (COMPILED, "")
    (cache.module / "doubling.py").write_text(MODULE)


@pytest.mark.verify
@pytest.mark.sized
def test_processes_that_compile_at_once_leave_a_whole_cache(cache):
    for file in cache.files():
        file.unlink()
    processes = [cache.start() for _ in range(sized(2, 4))]
    told = [(*process.communicate(), process.returncode) for process in processes]
    assert {(answer.split()[0], error, status) for answer, error, status in told} == {("42", "", 0)}
    assert cache.run()[0] in (COMPILED, LOADED)  # the first where the index is of one and the data of another
    assert cache.run() == (LOADED, "")
    assert [p.suffix for p in cache.files()] == [".nbc", ".nbi"]  # and nothing half written


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_files_that_others_could_have_written_are_not_loaded(cache):
    for file in cache.files():
        file.chmod(0o666)
        assert cache.run() == (COMPILED, "")
    assert {p.stat().st_mode & 0o777 for p in cache.files()} == {0o600}


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_nothing_is_loaded_from_a_folder_that_others_can_write(cache):
    (folder,) = (p for p in cache.folder.iterdir() if p.is_dir())
    folder.chmod(0o775)
    answer, told = cache.run()
    assert answer == NOT_KEPT
    assert "other users can write in" in told
    assert len(told.splitlines()) == 1
    folder.chmod(0o700)
    assert cache.run() == (LOADED, "")


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give files away")
def test_files_of_another_user_are_not_loaded(cache):
    (data,) = cache.files("nbc")
    os.chown(data, 65534, -1)
    before = "import os; os.getuid = lambda: 1\n"  # root's are taken, other users' are not
    assert cache.run(before) == (COMPILED, "")


FULL = """
import errno, os
from nona.core.compiled import cache as sealed
def write_whole(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
sealed.write_whole = write_whole
"""


@pytest.mark.parametrize(
    ("before", "place", "why"), [("", "file", "NONA_CACHE_DIR"), (FULL, ".", "No space left on device")]
)
def test_a_folder_that_cannot_be_made_and_a_full_disk_are_one_line(cache, before, place, why, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    answer, told = cache.run(before, NUMBA_CACHE_DIR=str(tmp_path / place))
    assert answer == NOT_KEPT
    assert str(tmp_path) in told
    assert why in told
    assert len(told.splitlines()) == 1
