"""Where compiled code is kept, who compiles it, and what answers until it is there."""

import os
import stat
import subprocess
import sys

import numba
import numpy as np
import pytest

from nona import app_root
from nona.core.compiled import build, families
from nona.core.compiled import cache as folders
from nona.core.family import families as declared
from nona.queries.simulation.compiled import core as core_module
from nona.queries.simulation.run import engine_named


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(build, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(families, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(core_module, "cache_folder", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def started(folder, monkeypatch):
    """The programs of processes that were started."""
    programs = []

    class Started:
        pid = os.getpid()

        def __init__(self, command, **options):
            programs.append(command[-1])

        def wait(self):
            return 0

    monkeypatch.setattr(families.subprocess, "Popen", Started)
    return programs


def test_simpy_answers_until_the_code_is_there(started):
    assert engine_named("auto") == "simpy"
    assert engine_named("auto") == "simpy"
    assert len(started) == 1  # one process compiles, however many ask
    build.mark_ready()
    assert engine_named("auto") == "compiled"
    assert len(started) == 1


def test_the_work_of_a_process_that_died_is_taken_up(folder):
    dead = subprocess.Popen([sys.executable, "-c", "pass"])
    dead.wait()
    (folder / "preparing").write_text(str(dead.pid), encoding="ascii")
    assert families.compiling() is None
    assert families._claimed()
    (folder / "preparing").write_text(str(os.getpid()), encoding="ascii")
    assert not families._claimed()


def test_one_process_compiles_what_is_not_ready_in_order(folder, started, monkeypatch):
    build.mark_ready("training")
    assert not families.prepare_in_background(*families.FAMILIES)
    missing = tuple(f for f in families.FAMILIES if f != "training")
    assert started == [
        f"from {families.__name__} import compile_in_turn; compile_in_turn(*{missing!r})",
    ]
    assert not families.prepare_in_background(*families.FAMILIES)
    assert len(started) == 1
    seen = []
    monkeypatch.setattr(families, "give_way", lambda nice: seen.append(nice))
    monkeypatch.setattr(families, "load", lambda place: lambda: seen.append(families.compiling()[0]))
    families.compile_in_turn(*missing)
    assert seen == [19, *missing]  # each says what it is at
    assert families.compiling() is None
    assert families.prepare_in_background(*families.FAMILIES)
    assert not (folder / "preparing").exists()


def test_a_family_that_cannot_be_compiled_is_not_begun_again_at_once(folder, started, monkeypatch):
    def fails():
        raise ValueError("no machine code")

    monkeypatch.setattr(families, "give_way", lambda nice: None)
    monkeypatch.setattr(families, "load", lambda place: fails)
    with pytest.raises(ValueError, match="no machine code"):
        families.compile_in_turn("language")
    assert not families.prepare_in_background("language")
    assert (started, families.compiling()) == ([], None)


def test_each_family_has_sources():
    parts = [part for family in declared() for part in family.compiled]
    assert {part.name for part in parts} == families.FAMILIES.keys()
    assert all(list((app_root() / part.sources).rglob("*.py")) for part in parts)
    assert all((app_root() / path).exists() for part in parts for path in part.core)


def test_schedulers_that_change_are_compiled_anew(folder, monkeypatch):
    build.mark_ready()
    before = core_module._written("policy", "source")
    monkeypatch.setattr(build, "sources_hash", lambda family: "changed")
    monkeypatch.setattr(core_module, "sources_hash", lambda family: "changed")
    assert not build.is_ready()
    assert core_module._written("policy", "source") != before


def test_folders_of_former_versions_go(folder, monkeypatch):
    own = folder / "engine-own"
    own.mkdir()
    monkeypatch.setattr(build, "cache_folder", lambda: own)
    kept = build._KEPT
    for age in range(kept + 3):
        old = folder / f"engine-{age}"
        old.mkdir()
        os.utime(old, (1e9 - age, 1e9 - age))
    build.mark_ready()
    assert {f.name for f in folder.iterdir()} == {"engine-own", *(f"engine-{age}" for age in range(kept))}


@pytest.mark.skipif(os.name != "posix", reason="ownership of files")
def test_code_is_never_taken_from_a_folder_that_others_can_write(monkeypatch, tmp_path):
    monkeypatch.setattr(folders.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(folders.tempfile, "tempdir", str(tmp_path))
    ours = folders._temporary_folder()
    assert stat.S_IMODE(ours.stat().st_mode) == 0o700
    assert folders._temporary_folder() == ours
    ours.chmod(0o777)
    assert folders._temporary_folder() != ours


def test_without_a_place_for_the_cache_simpy_answers_and_one_line_says_why(monkeypatch, tmp_path, capsys):
    taken = tmp_path / "file"
    taken.write_text("not a folder")
    monkeypatch.setenv("NONA_CACHE_DIR", str(taken))
    monkeypatch.setattr(folders.tempfile, "tempdir", str(taken))
    folders.code_folder.cache_clear()
    build.cache_folder.cache_clear()
    try:
        assert engine_named("auto") == "simpy"
        assert engine_named("auto") == "simpy"
        build.mark_ready()
        assert not build.is_ready()
    finally:
        folders.code_folder.cache_clear()
        build.cache_folder.cache_clear()
    told = capsys.readouterr().err
    assert str(taken) in told
    assert "NONA_CACHE_DIR" in told
    assert len(told.splitlines()) == 1


def _sum(numbers):
    total = 0
    for n in numbers:
        total += n
    return total


def _twice(numbers):
    return 2 * _sum(numbers)


def _thrice(numbers):
    return 3 * _sum(numbers)


def test_of_functions_that_only_compiled_code_calls_no_machine_code_is_made(folder):
    """With one caller they are not optimised on their own either; the caller is, with them in it."""
    kind = numba.int64(numba.int64[::1])
    alone, twice = build.compile_function(_sum, kind), build.compile_function(_twice, kind)
    numbers = np.arange(5)
    assert (alone(numbers), twice(numbers)) == (10, 20)
    part = twice.py_func.__globals__["_sum"]
    (whole,), (inner,) = (list(f.overloads.values()) for f in (alone, part))
    address, nowhere = (c.library.get_pointer_to_function(c.fndesc.llvm_func_name) for c in (whole, inner))
    assert address
    assert not nowhere
    assert "llvm.loop" in whole.library.get_llvm_str()  # what optimisation notes
    assert "llvm.loop" not in inner.library.get_llvm_str()
    assert build.compile_function(_thrice, kind)(numbers) == 30
    assert list(part.overloads) == [kind.args]  # nor are they compiled again for another caller
