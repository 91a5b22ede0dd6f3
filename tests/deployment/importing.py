"""Reads the samples beside this file, and finds facts by their words."""

from pathlib import Path

from nona.deployment.files import file_of, given_files
from nona.deployment.importing import import_files

DATA = Path(__file__).parent / "data"
CODE = b"""raise SystemExit("nobody runs this")
pb_utils.InferenceRequest(model_name="caption", inputs=[], requested_output_names=["t"]).exec()
"""
BESIDE = {  # no files of their own here: whoever collects tests would run them
    "repository": (
        file_of("repository/router/1/model.py", CODE),
        file_of("repository/resize/1/model.py", b'raise SystemExit("nobody runs this")'),
    )
}


def samples(*names):
    """The files of samples."""
    beside = [file for name in names for file in BESIDE.get(name, ())]
    return (*given_files([DATA / name for name in names]), *beside)


def imported(*names, **answers):
    """What is found in samples; answers have ``__`` for a point in their keys."""
    given = {key.replace("__", "."): value for key, value in answers.items()}
    return import_files(samples(*names), given)


def values(facts):
    """What → value of a list of facts."""
    return {fact.what: fact.value for fact in facts}


def asked(result):
    """The keys that are asked."""
    return {fact.key for fact in result.facts.asked}
