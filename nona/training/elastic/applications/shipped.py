"""The applications that ship: six, measured for Pollux."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from nona.training.elastic.applications.application import Application
from nona.training.elastic.applications.reading import Tables, read_applications

SOURCE = "Pollux (Qiao et al., OSDI 2021), public simulator, petuum/adaptdl c793c70"


@cache
def shipped_applications() -> Mapping[str, Application]:
    """Six applications by name, measured on nodes with four NVIDIA T4 each.

    >>> sorted(shipped_applications())
    ['bert', 'cifar10', 'deepspeech2', 'imagenet', 'ncf', 'yolov3']
    >>> shipped_applications()["bert"].times.at((1,), 4).step_s
    0.45532355
    """
    folder = files("nona.training.elastic").joinpath("data")
    tables = Tables(*(folder.joinpath(f"{name}.csv").read_bytes() for name in Tables._fields))
    return read_applications(tables, SOURCE)
