"""Traces and tables of jobs: read, written, refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import ScenarioError
from nona.training.generated_jobs import MODELS
from nona.training.job_files import (
    TraceJob,
    read_job_table,
    read_trace,
    reference_rate,
    trace_jobs,
    write_job_table,
    write_trace,
)
from nona.training.rows import MOST_PROBLEMS
from nona.training.system import Job
from nona.training.throughput_table import shipped_throughputs

TABLE = shipped_throughputs()
LINE = "LM (batch size 5)\tpython main.py\tlanguage_modeling\t--steps\t1\t392999\t2\t1\t-1.000000\t0"
positive = st.floats(1e-6, 1e12)
some_text = st.text(st.characters(categories=("L", "N", "Zs")), min_size=1, max_size=12).map(str.strip)
names = some_text.filter(lambda name: name != "" and name.isprintable())


@examples(40)
@given(
    st.lists(
        st.builds(
            TraceJob,
            st.sampled_from(MODELS),
            positive,
            st.integers(1, 8),
            positive,
            st.none() | st.floats(0, 100),
            st.floats(0, 1e9),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_what_is_written_is_read_back(jobs: list[TraceJob]) -> None:
    ordered = tuple(sorted(jobs, key=lambda job: job.arrival_s))
    assert read_trace(write_trace(ordered).encode(), "t.trace") == ordered


@examples(40)
@given(
    st.lists(
        st.builds(
            Job,
            name=names,
            model=names,
            steps=positive,
            workers=st.integers(1, 64),
            weight=positive,
            slo_s=st.none() | st.floats(0, 1e9),
            arrival_s=st.floats(0, 1e9),
            entity=names,
            kind=st.sampled_from(["training", "interactive", "inference"]),
            rate=st.floats(0, 1e9),
            latency_slo_s=st.none() | st.floats(0, 1e9),
            checkpoint_bytes=st.floats(0, 1e15),
            region=names,
        ),
        min_size=1,
        max_size=6,
        unique_by=lambda job: job.name,
    )
)
def test_a_table_that_is_written_is_read_back(jobs: list[Job]) -> None:
    ordered = tuple(sorted(jobs, key=lambda job: job.arrival_s))
    assert read_job_table(write_job_table(ordered).encode(), "t.csv") == ordered


def test_a_line_of_the_original() -> None:
    (job,) = read_trace((LINE + "\n").encode(), "t.trace")
    assert job == TraceJob("LM (batch size 5)", 392999, 2)
    assert trace_jobs([job], TABLE)[0] == Job("0", "LM (batch size 5)", 392999, 2)


def test_deadlines_are_multiples_of_the_duration_on_a_v100() -> None:
    job = TraceJob("CycleGAN", 1000, slo_factor=1.2)
    assert trace_jobs([job], TABLE)[0].slo_s == pytest.approx(1200 / TABLE.rate("v100", "CycleGAN", 1))
    with pytest.raises(ScenarioError, match="job 0 has an SLO, but 'unknown'"):
        trace_jobs([replace(job, model="unknown")], TABLE)
    assert trace_jobs([replace(job, model="unknown", slo_factor=None)], TABLE)[0].slo_s is None
    assert reference_rate(TABLE, "CycleGAN", 2) == 0


def test_all_problems_of_a_trace_are_told_at_once() -> None:
    cells = LINE.split("\t")

    def changed(place: int, value: str) -> str:
        return "\t".join(value if i == place else c for i, c in enumerate(cells))

    wrong = ["a\tb", changed(4, "2"), changed(5, "0"), changed(6, "1.5"), changed(7, "-1"), changed(8, "inf")]
    lines = [changed(9, "60"), *wrong, changed(9, "x"), changed(9, "59"), changed(0, "")]
    with pytest.raises(ScenarioError) as caught:
        read_trace("\n".join(lines).encode(), "t.trace")
    told = [problem.partition(": ")[0] for problem in caught.value.problems]
    # An unreadable line counts as one at time 0, and is not told twice; line 4 onwards arrive before line 1.
    assert told == [f"Trace 't.trace', line {n}" for n in (2, 3, 4, 5, 6, 7, 8, 9, 10)]
    assert "must not be before" in caught.value.problems[7]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it has no jobs"),
        (b"\n \n", "it has no jobs"),
        (b"\xff\xfe\n", "not UTF-8"),
        (b"name,model\n", "1 columns where 10"),
        (LINE.replace("392999", "1e400").encode(), "steps='1e400' must be a number"),
        (LINE.replace("LM", "L\x07M").encode(), "printable"),
        (LINE.replace("LM", "L" * 300).encode(), "1 to 200"),
        (LINE.replace("\t2\t", "\t" + "9" * 30 + "\t").encode(), "scale factor"),
    ],
)
def test_broken_traces_are_refused(data: bytes, why: str) -> None:
    with pytest.raises(ScenarioError, match=why):
        read_trace(data, "t.trace")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        ("model,steps\n", "it has no jobs"),
        ("model\nA3C\n", "'steps' is missing"),
        ("model,steps,colour\n", "'colour' is not known"),
        ("model,steps,steps\n", "appears twice"),
        ("model,steps\nA3C\n", "1 cells where the header has 2"),
        ("model,steps\nA3C,0\n", "above 0"),
        ("model,steps\nA3C,\n", "steps='' must be a number"),
        ("model,steps,slo\nA3C,1,5 apples\n", "not a time"),
        ("model,steps,arrival\nA3C,1,-5\n", "from 0 to"),
        ("model,steps,kind\nA3C,1,game\n", "training, interactive, inference"),
        ("model,steps,workers\nA3C,1,0.5\n", "whole number"),
        ("name,model,steps\na,A3C,1\na,A3C,1\n", "that of line 2"),
    ],
)
def test_broken_tables_of_jobs_are_refused(text: str, why: str) -> None:
    with pytest.raises(ScenarioError, match=why) as caught:
        read_job_table(text.encode(), "jobs.csv")
    assert all(p.startswith("Table of jobs 'jobs.csv'") for p in caught.value.problems)


def test_units_defaults_and_order() -> None:
    text = "steps,model,arrival,checkpoint,slo\n5,A3C,1 h,2 GB,\n7,LM,30 min,,90 min\n"
    late, early = read_job_table(text.encode(), "j.csv")[::-1]
    assert (early.name, early.arrival_s, early.slo_s, early.steps) == ("1", 1800, 5400, 7)
    assert (late.name, late.arrival_s, late.checkpoint_bytes, late.weight) == ("0", 3600, 2e9, 1)


@examples(60)
@given(st.binary(max_size=150) | st.text("\t\n1aA.,-e\0\"'", max_size=150).map(str.encode), st.booleans())
def test_any_bytes_give_jobs_or_lines(data: bytes, table: bool) -> None:
    problems: tuple[str, ...] = ()
    try:
        found = read_job_table(b"model,steps\n" + data, "f") if table else read_trace(data, "f")
        assert found
    except ScenarioError as error:
        problems = error.problems
    assert len(problems) <= MOST_PROBLEMS + 1
    assert all("\n" not in p for p in problems)
