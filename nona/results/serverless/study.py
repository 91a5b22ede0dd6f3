"""The results of the serverless study, as its command prints them and as they ship."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document, Figure
from nona.results.estimate import Estimate
from nona.results.serverless.outcome import PolicyOutcome, Utilization
from nona.results.serverless.over import OverReport
from nona.results.serverless.report import Oracle
from nona.results.serverless.values import Spread


class MeasuredSearches(Document):
    """ESG's searches on the study's machine: their number, seconds, steps.

    ``full_paths`` is the number of paths of the largest group of functions, ``every_path_s`` the time to
    look at all of them.
    """

    searches: int
    measured_s: Spread
    steps: Spread
    full_paths: int
    every_path_s: float


class Cell(Document):
    """What claims and rankings need of one policy in one setting.

    ``hits``, ``costs``: share of SLOs kept and US dollars a call, one per replication, so that policies
    can be paired; ``miss``: configuration miss rate, ``None`` without carried plans; ``search_s``: mean;
    ``fill``: median latency / SLO of each application; ``mean_fill``: mean latency / SLO over all.
    """

    hits: tuple[Figure, ...]
    costs: tuple[Figure, ...]
    miss: Figure
    search_s: Figure
    fill: tuple[Figure, ...]
    mean_fill: Figure
    state: str


Cells = Mapping[str, Cell]
"""Policy → cell, of one setting."""

SettingCells = Mapping[str, Cells]
"""Setting → policy → cell."""


class StudySetting(Document):
    """One of the slides' settings: every policy, the oracle, and the cells."""

    scenario: str
    policies: Mapping[str, PolicyOutcome]
    oracle: Oracle
    cells: Cells


class CutoffPoint(Document):
    """Orion with one cut-off of its search."""

    cutoff_s: float
    slo_hit_rate: Estimate
    cost_per_call_usd: Estimate
    search_s: Spread
    steps_mean: Figure
    state: str


class CutoffStudy(Document):
    """Orion by the cut-off of its search, in one setting."""

    setting: str
    points: tuple[CutoffPoint, ...]


class SharedOutcome(Document):
    """One policy under one way of sharing GPUs."""

    slo_hit_rate: Estimate
    cost_per_call_usd: Estimate
    utilization: Utilization
    stranded_vgpus: Figure
    state: str


class SharingStudy(Document):
    """One scenario under every way of sharing: way → policy → outcome."""

    scenario: str
    modes: Mapping[str, Mapping[str, SharedOutcome]]


class AlternativeCells(Document):
    """The cells under one changed default; policies that it does not touch are left out."""

    key: str
    default: str
    other: str
    settings: SettingCells


class Sensitivity(Document):
    """Every alternative beside the defaults in runs of equal size."""

    calls: int
    replications: int
    default: SettingCells
    rows: tuple[AlternativeCells, ...]


class ProfileCurves(Document):
    """Every policy over load with one set of profiles: setting → report."""

    name: str
    about: str
    settings: Mapping[str, OverReport]


class ScarceCurve(Document):
    """Every policy over load with another CPU share of the functions and number of vCPUs of a node."""

    cpu_share: float
    vcpus: int
    report: OverReport


class Pressed(Document):
    """The factor on a setting's load at which alternatives are tried, and the vGPUs that esg holds there."""

    load: float
    vgpus_held: Figure


class ServerlessStudy(Document):
    """The study with its provenance: command, version, date, seed, size, and seconds it took.

    ``curves``: a set of profiles each; ``scarcity``: of the setting ``scarce_setting``; ``pressed``:
    setting → load of the sensitivity.
    """

    study: str
    command: str
    version: str
    date: str
    seed: int
    calls: int
    replications: int
    searches: Mapping[str, MeasuredSearches]
    settings: Mapping[str, StudySetting]
    cutoff: CutoffStudy
    sharing: SharingStudy
    curves: tuple[ProfileCurves, ...]
    scarce_setting: str
    scarcity: tuple[ScarceCurve, ...]
    pressed: Mapping[str, Pressed]
    sensitivity: Sensitivity
    seconds: float
