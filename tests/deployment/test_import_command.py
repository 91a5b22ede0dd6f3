"""`nona import`: what it prints, writes and answers with."""

import json

from importing import DATA

from nona.cli.main import main

NODES = str(DATA / "nodes.json")


def test_status_2_while_something_is_asked(tmp_path, capsys):
    path = tmp_path / "scenario.yaml"
    assert main(["import", NODES, "--json", "-o", str(path)]) == 2
    out, err = capsys.readouterr()
    facts = json.loads(out)
    assert set(facts) == {"read", "assumed", "not_used", "asked"}
    assert facts["asked"] == [
        {
            "what": "capacity of the network between servers",
            "value": "25 Gbit/s",
            "from": "nodes.json:2",
            "key": "network.capacity",
        }
    ]
    assert "network.capacity" in err
    assert err.count("\n") == 1
    assert "capacity: 'asked: network.capacity'" in path.read_text()
    assert main(["simulate", str(path)]) == 2
    assert "network.capacity: 'asked: network.capacity' is not a bandwidth" in capsys.readouterr().err


def test_status_0_once_all_is_answered(tmp_path, capsys):
    path = tmp_path / "scenario.yaml"
    answer = ["--set", "network.capacity=10 Gbit/s"]
    assert main(["import", NODES, *answer, "-o", str(path)]) == 0
    assert "c: GPUs: 2 × l4, mps: 3 on each GPU  [nodes.json:11]" in capsys.readouterr().out
    assert "capacity: 10 Gbit/s" in path.read_text()
    path.write_text("mine")
    assert main(["import", NODES, *answer, "-o", str(path)]) == 2
    assert "the file exists; add --force to overwrite it." in capsys.readouterr().err
    assert path.read_text() == "mine"
    assert main(["import", NODES, *answer, "-o", str(path), "--force"]) == 0


def test_what_is_of_no_kind_is_refused_in_a_line(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("nothing of the kind")
    assert main(["import", str(tmp_path / "notes.txt")]) == 2
    assert capsys.readouterr().err.startswith(
        "nona: notes.txt: no file of a known kind; give a Triton repository"
    )
    assert main(["import", str(tmp_path / "none.txt")]) == 2
    assert "no such file or folder; check the path." in capsys.readouterr().err
