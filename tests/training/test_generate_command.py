"""``nona training generate``: a trace that is read back, the same for the same seed."""

from __future__ import annotations

import pytest

from nona.cli.main import main
from nona.training.generated_jobs import Generation, generate
from nona.training.job_files import read_trace
from nona.training.throughput_table import shipped_throughputs


def written(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["training", "generate", *words]) == 0
    return capsys.readouterr().out


def test_the_trace_holds_what_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--jobs", "40", "--mean-gap", "5 min", "--multi-gpu", "--weights", "--slos", "--seed", "3")
    text = written(capsys, *words)
    drawn = generate(Generation(40, 300, True, True, True), shipped_throughputs(), 3)
    assert read_trace(text.encode(), "t.trace") == drawn
    assert text == written(capsys, *words)
    assert len(read_trace(written(capsys).encode(), "t.trace")) == 120


@pytest.mark.parametrize(
    "words",
    [("--jobs", "0"), ("--mean-gap", "-5"), ("--mean-gap", "1e9"), ("--mean-gap", "soon"), ("--seed", "x")],
)
def test_what_cannot_be_drawn_is_refused_in_one_line(
    words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["training", "generate", *words]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert out.err.count("\n") == 1
    assert words[0] in out.err
