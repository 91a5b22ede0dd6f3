"""The shipped studies: read once into typed results, written again the same bytes, shown by the command."""

import json

import pytest

from evidence.decisions import DecisionSettings
from evidence.elastic import ElasticStudySettings
from evidence.paper import PaperSettings
from evidence.prediction_map import MapSettings
from evidence.provenance import rounded_result
from evidence.results import Entrant
from evidence.training import StudySettings
from nona.cli.commands import studies as commands
from nona.core.errors import SimulationError
from nona.core.registry import load
from nona.queries.workflows import shipped
from tests.cli.calling import answer, refusal, text

# The command's name of each study, and its file.
STUDIES = {
    **{name: name for name in ("decisions", "paper", "serverless", "training", "elastic")},
    "prediction": "prediction_map",
}
COMPACT = ("decisions", "prediction", "paper")


def read(study):
    (declared,) = (one for one in commands.STUDIES if one.name == study)
    return shipped.stored_result(load(declared.result))


@pytest.mark.parametrize("study", STUDIES)
def test_a_file_read_and_written_again_is_the_same(study):
    found = read(study)
    assert read(study) is found
    assert found.to_json() == shipped.shipped_file(STUDIES[study])
    if study in COMPACT:
        written = json.dumps(found.to_json(), allow_nan=False) + "\n"
        assert written.encode() == shipped.shipped_path(STUDIES[study]).read_bytes()
    assert type(found).from_json(found.to_json()) == found
    with pytest.raises(ValueError, match="surprise"):
        type(found).from_json(found.to_json() | {"surprise": 1})


@pytest.mark.parametrize("study", STUDIES)
def test_the_command_shows_what_is_shipped(study, capsys):
    assert answer(capsys, "study", study, "--shipped") == shipped.shipped_file(STUDIES[study])
    assert len(text(capsys, "study", study, "--shipped").splitlines()) > 5


@pytest.mark.parametrize(
    ("settings", "given", "why"),
    [
        (DecisionSettings, {"replications": 1}, "replications=1 must be at least 2"),
        (DecisionSettings, {"jobs": 5}, "jobs=5 must be at least 100"),
        (DecisionSettings, {"networks": ("nothing",)}, "network 'nothing' .*; choose from alexnet"),
        (DecisionSettings, {"links": (40.0,)}, "link=40 Gbit/s .*; choose from 10, 25, 100, 200"),
        (MapSettings, {"replications": 1}, "replications=1 must be at least 2"),
        (MapSettings, {"scenarios": ("nowhere",)}, "'nowhere' is not on the map"),
        (PaperSettings, {"jobs": 0}, "jobs=0 must be at least 1"),
        (ElasticStudySettings, {"workloads": (7,)}, r"workloads=\[7\] must be among 1, 2, 3, 4"),
        (ElasticStudySettings, {"replications": 0}, "replications=0"),
        *((StudySettings, given, "Study: ") for given in ({"jobs": 0}, {"loads": ()}, {"loads": (-1.0,)})),
    ],
)
def test_settings_that_make_no_study_are_refused(settings, given, why):
    with pytest.raises(SimulationError, match=why):
        settings(**given)


@pytest.mark.parametrize("option", [("--jobs", "0"), ("--workers", "0")])
def test_bad_sizes_are_one_line(option, capsys):
    assert "0 must be at least 1" in refusal(capsys, "study", "paper", *option).replace("=", " ")


def test_numbers_are_rounded_to_significant_digits():
    long = Entrant(mean_s=1 / 3, half_width_s=float("inf"), runs=5)
    assert rounded_result(long, 3) == Entrant(mean_s=0.333, runs=5)
