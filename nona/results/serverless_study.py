"""Results of the serverless study, and of policies over one number."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document, Estimate, Figure, Verdict
from nona.results.serverless import Oracle, PolicyOutcome, Spread, Utilization
from nona.results.sweeps import Unit


class OverPoint(Document):
    """One policy at one value.

    ``goodput_per_s``: calls that kept their SLO, per second of the measured window.
    ``verdict``: whether the target is kept, by the sequential test. Intervals are at 95 % over
        ``replications``.
    ``warmup``: calls before the measured ones.
    """

    value: float
    slo_hit_rate: Estimate
    goodput_per_s: Estimate
    cost_per_call_usd: Estimate
    cost_per_hit_usd: Estimate
    utilization: Utilization
    cold_start_rate: Figure
    warmup: int
    replications: int
    verdict: Verdict
    state: str


class Knee(Document):
    """The point where a policy ceases to keep the target, or begins to.

    ``kept`` is the last value at which it was found kept, ``missed`` the nearest one beyond at which it was
    found missed: the knee lies between them. Either is ``None`` where no such value was found.
    """

    kept: Figure
    missed: Figure


class PolicyOver(Document):
    """One policy: its points by ascending value, and its knees."""

    points: tuple[OverPoint, ...]
    knees: tuple[Knee, ...]


class OverSetting(Document):
    """Setting of a sweep: name and seed of the scenario, measured calls of a run, replications at most."""

    name: str
    seed: int
    calls: int
    replications: int


class OverReport(Document):
    """All policies over the values of the number ``key``.

    ``values`` are those asked for; policies have more points near their knees. ``target``: share of SLOs to
    keep. ``now``: the number as it stands in the scenario.
    """

    key: str
    label: str
    unit: Unit
    now: float
    values: tuple[float, ...]
    target: float
    policies: Mapping[str, PolicyOver]
    setting: OverSetting
    seconds: float


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
    """The figures of one policy in one setting that claims and rankings need.

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
