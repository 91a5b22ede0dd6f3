"""Jobs on counted GPUs: the authors' figure, a second simulator, queues and ranks by hand, refusals."""

import json

import counted_oracle as oracle
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sizes import examples

from nona.cli.main import main
from nona.errors import ScenarioError, SimulationError
from nona.results.training import CountedReport
from nona.training.counting.engine import SCHEDULES, simulate_counted
from nona.training.counting.jobs import CountedJob, counted_checks, read_counted_jobs, tiresias_jobs
from nona.training.counting.queues import GittinsRank, limits_of

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
    assert main(["training", "counted", "--json", "--schedule", "fifo", "--schedule", "dlas-gpu"]) == 0
    report = CountedReport.from_json(json.loads(capsys.readouterr().out))
    fifo = report.schedules["fifo"]
    assert fifo.jct_s.mean == pytest.approx(fifo.published_jct_s, abs=1e-6)
    assert fifo.makespan_s == fifo.published_makespan_s
    assert all(report.checks.values())
    own = tmp_path / "jobs.csv"
    own.write_text("name,arrival_s,gpus,duration_s\na,0,2,10\nb,0,2,10\n")
    words = ["training", "counted", "--workload", str(own), "--schedule", "dlas-gpu", "--gpus", "2"]
    assert main([*words, "--set", "dlas-gpu.limits_gpu_s=4,8"]) == 0
    assert "4 of 4 self-checks held" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--workload", "nowhere.csv"), "check the path, or choose tiresias"),
        (("--gpus", "4"), "asks for 8 GPUs of 4"),
        (("--schedule", "dlas-gpu", "--set", "dlas-gpu.limits_gpu_s=9,3"), "ascending numbers"),
        (("--schedule", "fifo", "--set", "fifo.x=1"), "option 'x' is not known"),
        (("--schedule", "fifo", "--set", "sjf.x=1"), "'sjf' is not run; choose from fifo"),
        (("--set", "fifo=1"), "must be NAME.OPTION=VALUE"),
    ],
)
def test_what_cannot_be_run_is_refused(arguments, reason, capsys):
    assert main(["training", "counted", *arguments]) == 2
    assert reason in capsys.readouterr().err


def test_wrong_files_and_options_are_refused():
    with pytest.raises(ScenarioError, match=r"line 3: name='a' is taken"):
        read_counted_jobs(b"name,arrival_s,gpus,duration_s\na,0,1,1\na,0,1,1\n", "Jobs")
    with pytest.raises(ScenarioError, match="it has no jobs"):
        read_counted_jobs(b"name,arrival_s,gpus,duration_s\n", "Jobs")
    with pytest.raises(SimulationError, match="give a workload"):
        simulate_counted([], GPUS, SCHEDULES["fifo"])
    with pytest.raises(SimulationError, match="1 to 15 ascending numbers"):
        limits_of("Schedule 'x'", "soon")
    with pytest.raises(SimulationError, match="late_moves='no' must be true or false"):
        run([(0, 1, 1)], "dlas-gpu", late_moves="no")
