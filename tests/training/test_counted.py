"""Jobs on counted GPUs: the authors' figure, a second simulator, queues and ranks by hand, refusals."""

import counted_oracle as oracle
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import SimulationError
from nona.training.attained_service import GittinsRank
from studies.counting.engine import SCHEDULES, simulate_counted
from studies.counting.jobs import CountedJob, counted_checks, tiresias_jobs
from studies.counting.report import CountedReport
from tests.cli.calling import answer, refusal, text

GPUS = 8
ROWS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, GPUS), st.integers(1, 60)), min_size=1, max_size=9
).map(sorted)


def run(rows, name, **options):
    jobs = [CountedJob(f"j{n}", *row) for n, row in enumerate(rows)]
    return simulate_counted(jobs, GPUS, SCHEDULES[name], options)


def test_fifo_gives_the_authors_figures():
    records = simulate_counted(tiresias_jobs(), GPUS, SCHEDULES["fifo"])
    assert records.jct_s.sum() == 93_389  # 60 jobs, mean 1556.4833 s
    assert records.makespan_s == 5747


@examples(60)
@given(ROWS, st.sampled_from(["fifo", "fjf", "sjf", "shortest", "shortest-gpu"]))
def test_a_second_simulator_agrees_on_simple_schedules(rows, name):
    records = run(rows, name)
    assert records.jct_s.tolist() == oracle.simulate(rows, GPUS, name)
    assert [check for check in counted_checks(records) if not check.ok] == []


@examples(80)
@example([(0, 4, 40), (0, 5, 40), (3, 8, 9)], (30, 90), 0.5, False, 0)
@given(
    ROWS,
    st.sampled_from([(20,), (30, 90), (16, 60, 200)]),
    st.sampled_from([0, 0.5, 2]),
    st.booleans(),
    st.sampled_from([0, 40]),
)
def test_a_second_simulator_agrees_on_queues(rows, limits, knob, late, step):
    options = {"limits_gpu_s": ",".join(map(str, limits)), "starvation": float(knob), "late_moves": late}
    name = "dlas-gpu-gittins" if step else "dlas-gpu"
    records = run(rows, name, **options, **({"step_gpu_s": float(step)} if step else {}))
    expected = oracle.simulate(rows, GPUS, "queues", limits=limits, knob=knob, late=late, step=step)
    assert records.jct_s.tolist() == expected
    assert [check for check in counted_checks(records) if not check.ok] == []


@examples(60)
@given(st.lists(st.integers(1, 500), min_size=1, max_size=8), st.integers(1, 300), st.integers(0, 500))
def test_ranks_agree_with_sums_term_by_term(sizes, step, attained):
    assert GittinsRank.of(sizes, step).rank(attained) == oracle.gittins(sizes, step, attained)


def test_the_command_replays_beside_the_authors_figures(capsys, tmp_path):
    words = ("training", "counted", "--schedule", "dlas-gpu")
    report = CountedReport.from_json(answer(capsys, *words, "--schedule", "fifo"))
    fifo = report.schedules["fifo"]
    assert fifo.jct_s.mean == pytest.approx(fifo.published_jct_s, abs=1e-6)
    assert fifo.makespan_s == fifo.published_makespan_s
    assert all(report.checks.values())
    own = tmp_path / "jobs.csv"
    own.write_text("name,arrival_s,gpus,duration_s\na,0,2,10\nb,0,2,10\n")
    more = ("--workload", own, "--gpus", 2, "--set", "dlas-gpu.limits_gpu_s=4,8")
    assert "4 of 4 self-checks held" in text(capsys, *words, *more)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--workload", "nowhere.csv"), "check the path, or choose tiresias"),
        (("--gpus", "4"), "asks for 8 GPUs of 4"),
        (("--schedule", "dlas-gpu", "--set", "dlas-gpu.limits_gpu_s=9,3"), "ascending numbers"),
        (("--schedule", "fifo", "--set", "fifo.x=1"), "option 'x' is not known"),
        (("--schedule", "fifo", "--set", "sjf.x=1"), "'sjf' is not run; choose from fifo"),
        (("--set", "fifo=1"), "must be NAME.OPTION=VALUE"),
        (("--schedule", "dlas-gpu", "--set", "dlas-gpu.limits_gpu_s=soon"), "1 to 15 ascending numbers"),
        (("--schedule", "dlas-gpu", "--set", "dlas-gpu.late_moves=no"), "'no' must be true or false"),
        (("--workload", "twice.csv"), "line 3: name='a' is taken"),
        (("--workload", "none.csv"), "it has no jobs"),
    ],
)
def test_what_cannot_be_run_is_refused(arguments, reason, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, rows in (("twice", "a,0,1,1\na,0,1,1\n"), ("none", "")):
        (tmp_path / f"{name}.csv").write_text(f"name,arrival_s,gpus,duration_s\n{rows}")
    assert reason in refusal(capsys, "training", "counted", *arguments)


def test_no_jobs_are_refused():
    with pytest.raises(SimulationError, match="give a workload"):
        simulate_counted([], GPUS, SCHEDULES["fifo"])
