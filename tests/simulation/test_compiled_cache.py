"""Where compiled code is kept, who compiles it, and what answers until it is there."""

import os
import stat
import subprocess
import sys

import numpy as np
import pytest

from nona import code_cache as folders
from nona.simulation.compiled import build, preparation
from nona.simulation.compiled import core as core_module
from nona.simulation.run import engine_named


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(build, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(preparation, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(core_module, "cache_folder", lambda: tmp_path)
    return tmp_path


def test_simpy_answers_until_the_code_is_there(folder, monkeypatch):
    started = []

    class Started:
        pid = os.getpid()

        def __init__(self, *arguments, **options):
            started.append(arguments)

        def wait(self):
            return 0

    monkeypatch.setattr(preparation.subprocess, "Popen", Started)
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
    assert preparation._claimed()
    (folder / "preparing").write_text(str(os.getpid()), encoding="ascii")
    assert not preparation._claimed()


def test_schedulers_that_change_are_compiled_anew(folder, monkeypatch):
    build.mark_ready()
    before = core_module._written("policy", "source")
    monkeypatch.setattr(build, "policies_hash", lambda: "changed")
    monkeypatch.setattr(core_module, "policies_hash", lambda: "changed")
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


def test_a_function_with_one_caller_is_optimised_as_a_part_of_that(folder):
    numbers = np.arange(5)
    alone, twice = build.compile_function(_sum), build.compile_function(_twice)
    assert (alone(numbers), twice(numbers)) == (10, 20)
    part = twice.py_func.__globals__["_sum"]
    (whole_text,), (part_text,) = (
        [c.library.get_llvm_str() for c in f.overloads.values()] for f in (alone, part)
    )
    assert "vector.body" in whole_text
    assert "vector.body" not in part_text
