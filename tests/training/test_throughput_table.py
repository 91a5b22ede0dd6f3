"""The shipped table of throughputs, a user's own, and prices."""

import csv
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import ScenarioError
from nona.training.rows import MOST_PROBLEMS
from nona.training.system import AloneKey
from nona.training.throughput_table import read_throughputs, shipped_throughputs

TABLE = shipped_throughputs()
GPUS = ("k80", "p100", "v100")


def test_the_shipped_table_is_whole():
    """26 models on one GPU and 19 on 2, 4 and 8 of each type, but for what cannot run."""
    for gpu in GPUS:
        sizes = {w: {k.model for k in TABLE.alone if (k.gpu, k.workers) == (gpu, w)} for w in (1, 2, 4, 8)}
        several = 18 if gpu == "k80" else 19
        assert [len(sizes[w]) for w in (1, 2, 4, 8)] == [26, several, several, several]
        assert TABLE.provenance[gpu] == "measured"
    assert {key.workers for key in TABLE.spread} == {2, 4, 8}


def test_what_the_original_gives_as_zero_cannot_run():
    large = "ResNet-50 (batch size 128)"
    assert [TABLE.rate("k80", large, w) for w in (2, 4, 8)] == [0, 0, 0]
    assert min(TABLE.rate("k80", large, 1), TABLE.rate("p100", large, 2)) > 0
    models = sorted({key.model for key in TABLE.alone})
    zero = {g: sum(TABLE.pair(g, a, b, 1) == (0, 0) for a in models for b in models) for g in GPUS}
    assert zero == {"k80": 87, "p100": 20, "v100": 40}
    assert {key.workers for key in TABLE.pairs} == {1}


def test_pairs_read_both_ways_and_never_gain():
    for key, (own, other) in TABLE.pairs.items():
        assert TABLE.pair(key.gpu, key.partner, key.model, 1) == (other, own)
        together = own / TABLE.rate(key.gpu, key.model, 1) + other / TABLE.rate(key.gpu, key.partner, 1)
        assert 0 < together < 2.6  # two measurements, so that a little more than 2 occurs


def test_full_precision_is_kept():
    text = files("nona.training").joinpath("data/throughputs.csv").read_text("utf-8")
    alone = [r for r in csv.DictReader(text.splitlines()) if not r["partner_model"]]
    assert {repr(float(r["steps_per_s"])) for r in alone} == {r["steps_per_s"] for r in alone}
    assert TABLE.rate("v100", "ResNet-50 (batch size 64)", 1) == 4.394774823323071


def test_a_simple_table_of_ones_own():
    table = read_throughputs(
        b"# mine\ngpu,model,workers,steps_per_s\na,x,1,2\n\na,x,2,3.5\nb,x,1,0\n", "t.csv"
    )
    assert table.alone == {AloneKey("a", "x", 1): 2.0, AloneKey("a", "x", 2): 3.5}
    assert table.provenance == {"a": "given"}


def test_all_problems_of_a_table_are_told_at_once():
    rows = ["a,m,0,1", "a,m,1,nan", "a,m,1", "a,,1,1", "b,m,1,2", "b,m,1,3", "c,m,1,-2"]
    text = "\n".join(["gpu,model,workers,steps_per_s", *rows])
    with pytest.raises(ScenarioError) as caught:
        read_throughputs(text.encode(), "t.csv")
    lines = [2, 3, 4, 5, 7, 8]
    assert len(caught.value.problems) == len(lines)
    for line, problem in zip(lines, caught.value.problems, strict=True):
        assert problem.startswith(f"Table of throughputs 't.csv', line {line}: ")
        assert problem.endswith(".")


def test_only_the_first_problems_are_told():
    with pytest.raises(ScenarioError) as caught:
        read_throughputs(b"gpu,model,workers,steps_per_s\n" + b"a,m,1,x\n" * 5000, "t.csv")
    assert len(caught.value.problems) == MOST_PROBLEMS + 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "it is empty"),
        (b"gpu,model,steps_per_s\na,m,1\n", "'workers' is missing"),
        (b"gpu,model,workers,steps_per_s,hue\n", "'hue' is not known"),
        (b"gpu,gpu,model,workers,steps_per_s\n", "appears twice"),
        (b"gpu,model,workers,steps_per_s\n", "no job can run"),
        (b"gpu,model,workers,steps_per_s\na,m,1,0\n", "no job can run"),
        (b"\xff\xfe", "not UTF-8"),
        (b'gpu,model\n"a' + b"x" * 200_000, "is missing|no CSV"),
        (
            b"worker_type,placement,model,batch_size,scale_factor,steps_per_s\nk80,near,A3C,,1,2\n",
            "must be consolidated or unconsolidated",
        ),
    ],
)
def test_broken_tables_are_refused(text, why):
    with pytest.raises(ScenarioError, match=why) as caught:
        read_throughputs(text, "t.csv")
    assert all("\n" not in p for p in caught.value.problems)


@examples(60)
@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_give_a_table_or_lines(tail, headed):
    data = (b"gpu,model,workers,steps_per_s\n" if headed else b"") + tail
    problems = ()
    rates = [1.0]
    try:
        rates = list(read_throughputs(data, "t.csv").alone.values())
    except ScenarioError as error:
        problems = error.problems
    assert all(p.startswith("Table of throughputs") for p in problems)
    assert min(rates) > 0
