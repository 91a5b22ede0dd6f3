"""What a command imports: no library that it does not use. `benchmarks/start_up.py` measures the time."""

import subprocess
import sys

import pytest

APP = {"streamlit", "plotly", "pandas", "sklearn", "distributed"}
SIMULATOR = {"numba", "simpy", "scipy"}
PROGRAM = """
import sys
from nona.cli.main import main
status = main(sys.argv[1:])
print(*(name for name in sys.modules if "." not in name), file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.parametrize(
    ("command", "unused"),
    [
        ("--version", APP | SIMULATOR | {"numpy", "pydantic", "onnx"}),
        ("simulate --help", APP | SIMULATOR | {"onnx"}),
        ("models", APP | SIMULATOR | {"numpy", "onnx"}),
        ("devices", APP | SIMULATOR | {"numpy", "onnx"}),
        ("inspect resnet18", APP | SIMULATOR),
        ("contract gpt2", APP | SIMULATOR),
        ("simulate slides_example --jobs 50 --replications 1", APP - {"plotly"}),
    ],
)
def test_a_command_imports_no_library_that_it_does_not_use(command, unused):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command.split()], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert unused & set(done.stderr.split()) == set()


def test_a_worker_of_the_app_imports_no_streamlit():
    program = "import sys, nona.app.tasks.process; sys.exit('streamlit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_training_imports_nothing_that_places_or_simulates_queries():
    program = (
        "import sys\nfrom nona.cli.main import main\nmain(sys.argv[1:])\nprint(*sys.modules, file=sys.stderr)"
    )
    command = ["training", "simulate", "who_gets_the_v100", "--replications", "1"]
    done = subprocess.run(
        [sys.executable, "-c", program, *command], capture_output=True, text=True, check=True
    )
    imported = done.stderr.split()
    assert "nona.training.rounds" in imported
    rooms = ("nona.queries.placement", "nona.queries.simulation", "nona.queries.schedulers")
    assert [name for name in imported if name.startswith(rooms)] == []
