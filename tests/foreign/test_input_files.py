"""Files that a user names: their kind and size are checked before anything is read."""

import os
import time

import pytest

from nona.cli.main import main
from nona.errors import GraphError
from nona.foreign import files
from nona.foreign.files import read_file
from nona.sources.lookup import Sources


def _no_file(kind, folder):
    path = folder / "given.json"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(4 * 2**30)  # sparse: it takes no room
    return path


KINDS = ["folder", "pipe", "device", "4294967296 bytes"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_or_too_large_is_refused_at_once(kind, tmp_path, monkeypatch):
    path = _no_file(kind, tmp_path)
    begin = time.process_time()
    with pytest.raises(GraphError, match=kind) as caught:
        Sources(tmp_path).read("given.json")
    assert time.process_time() - begin < 5
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "command",
    [
        ["place"],
        ["simulate"],
        ["serverless"],
        ["inspect"],
        ["training", "allocate", "--policy", "max-min-fairness"],
        ["training", "simulate"],
    ],
    ids=" ".join,
)
def test_a_command_refuses_it_in_one_line(kind, command, tmp_path, capsys):
    path = _no_file(kind, tmp_path)
    begin = time.process_time()
    assert main([*command, str(path)]) == 2
    assert time.process_time() - begin < 5
    said = capsys.readouterr().err
    assert kind.replace("folder", "") in said
    assert said.count("\n") == 1


def test_a_file_that_grows_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "m.json"
    path.write_bytes(b"{}")
    real = files.os.fstat

    def grow(number):
        found = real(number)
        with path.open("ab") as file:
            file.write(b"more")
        return found

    monkeypatch.setattr(files.os, "fstat", grow)
    with pytest.raises(GraphError, match="it grows while it is read"):
        Sources(tmp_path).read("m.json")


@pytest.mark.parametrize("name", ["a\0b.json", "\ud800.json", "x" * 300 + ".json", "é" * 190 + ".json"])
def test_impossible_names_are_one_line(name, tmp_path):
    with pytest.raises(GraphError) as caught:
        Sources(tmp_path).read(name)
    assert "\n" not in str(caught.value)
    assert len(Sources(tmp_path).missing("workload[0].model", name)) == 1


def test_a_link_to_a_file_is_followed(tmp_path):
    (tmp_path / "m.json").write_bytes(b"{}")
    (tmp_path / "link.json").symlink_to("m.json")
    assert read_file(tmp_path / "link.json", "File", 10, ValueError) == b"{}"
