"""The files that a scenario names, safe names for them, and where they are found.

In the browser the files are uploads: they are *confined* to the session's own folder, and a
scenario cannot name any other path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal, get_args

from nona.core.errors import GraphError, ScenarioError
from nona.models.graph.guard import parse_guarded
from nona.models.graph.model import ModelGraph
from nona.models.graph.node_link import from_node_link
from nona.models.graph.readers import read_model, read_model_file
from nona.scenario.sample_files import load_sample, sample_names
from nona.scenario.training import MODELLED, TABLES, batch_of, with_batch

if TYPE_CHECKING:
    from nona.scenario.cluster import ClusterSpec
    from nona.scenario.language import LanguageRow
    from nona.scenario.rows import ArrivalsSpec
    from nona.scenario.schema import Scenario
    from nona.scenario.serverless import ServerlessSpec
    from nona.scenario.training import ElasticSpec, TrainingJobSpec, TrainingSpec


LONGEST = 60  # characters
_UNSAFE = re.compile(r"[^\w.+ -]+")


def safe_name(name: str) -> str:
    r"""Return the last part of a path in plain characters; at most 60 of them, never hidden.

    >>> safe_name("C:\\models\\<b>net</b>.onnx"), safe_name("..")
    ('b_.onnx', 'file')
    """
    base = PurePath(name.replace("\\", "/")).name
    return _UNSAFE.sub("_", base)[-LONGEST:].strip(". ") or "file"


def unused_name(name: str, taken: Iterable[str]) -> str:
    """Return a safe name like ``name`` that is not among those ``taken``, whatever the case of letters.

    >>> unused_name("a/net.onnx", []), unused_name("b/Net.onnx", ["net.onnx"])
    ('net.onnx', '2-Net.onnx')
    """
    plain, used = safe_name(name), {t.casefold() for t in taken}
    candidate, number = plain, 1
    while candidate.casefold() in used:
        number += 1
        candidate = f"{number}-{plain[-(LONGEST - 8) :]}"
    return candidate


Kind = Literal["model", "config", "trace", "measured", "times", "throughputs", "profile", "elastic"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that stands at ``place`` in a scenario."""

    place: str
    name: str
    kind: Kind


def named_files(scenario: Scenario) -> Iterator[NamedFile]:
    """Every place that names a file, in the order of the scenario.

    Models that are samples, or held by the scenario itself, are no files.
    """
    for i, row in enumerate(scenario.workload):
        if is_file(scenario, row.model):
            yield NamedFile(f"workload[{i}].model", row.model, "model")
        if row.arrivals.trace:
            yield NamedFile(f"workload[{i}].arrivals.trace", row.arrivals.trace, "trace")
    for i, asking in enumerate(scenario.language, len(scenario.workload)):
        if is_config(asking.llm.model):
            yield NamedFile(f"workload[{i}].llm.model", asking.llm.model, "config")
        for place, trace in (("llm.trace", asking.llm.trace), ("arrivals.trace", asking.arrivals.trace)):
            if trace:
                yield NamedFile(f"workload[{i}].{place}", trace, "trace")
    if scenario.cost.measured:
        yield NamedFile("cost.measured", scenario.cost.measured, "measured")
    for name, function in (scenario.serverless.functions if scenario.serverless else {}).items():
        if function.profile is not None:
            yield NamedFile(f"serverless.functions.{name}.profile", function.profile, "times")
    if scenario.training is not None:
        yield from _training_files(scenario, scenario.training)
    if scenario.plan is not None and scenario.plan.profile:
        yield NamedFile("plan.profile", scenario.plan.profile, "profile")


def _training_files(scenario: Scenario, training: TrainingSpec) -> Iterator[NamedFile]:
    if training.trace is not None:
        yield NamedFile("training.trace", training.trace, "trace")
    for i, job in enumerate(training.jobs):
        if (model := _costed_model(training, job)) and is_file(scenario, model):
            yield NamedFile(f"training.jobs[{i}].model", model, "model")
    if training.throughputs not in TABLES:
        yield NamedFile("training.throughputs", training.throughputs, "throughputs")
    yield from _elastic_files(training.elastic)


def _elastic_files(elastic: ElasticSpec | None) -> Iterator[NamedFile]:
    if elastic is None:
        return
    if not elastic.shipped:
        yield NamedFile("training.elastic.workload", elastic.workload, "elastic")
    for key, name in elastic.profiles or ():
        yield NamedFile(f"training.elastic.profiles.{key}", name, "elastic")


def _costed_model(training: TrainingSpec, job: TrainingJobSpec) -> str:
    """Return the model of a job that the cost layer times, without batch size.

    "" where a table has its rates.
    """
    if job.model is None or job.throughputs or job.kind == "interactive":
        return ""
    return batch_of(job.model)[0] if job.kind == "inference" or training.throughputs == MODELLED else ""


def is_file(scenario: Scenario, model: str) -> bool:
    """Return whether a model is to be read from a file."""
    return model not in scenario.models and model not in sample_names()


def is_config(language_model: str) -> bool:
    """Return whether a language model is described by a file, as Hugging Face's ``config.json``.

    >>> is_config("llama-3.1-8b"), is_config("mine/config.json")
    (False, True)
    """
    return language_model.endswith(".json")


def file_names(scenario: Scenario, *kinds: Kind) -> list[str]:
    """Return the names of the files of these kinds, or of all, each once, one kind after the other."""
    files = sorted(named_files(scenario), key=lambda file: KINDS.index(file.kind))
    return list(dict.fromkeys(file.name for file in files if not kinds or file.kind in kinds))


def with_files_renamed(scenario: Scenario, renamed: Callable[[str], str]) -> Scenario:
    """Return the scenario with another name in every place that names a file; rows keep their labels.

    The label is what random streams are named after: with another one the arrivals would differ.
    """
    rows = []
    for row in scenario.workload:
        model = renamed(row.model) if is_file(scenario, row.model) else row.model
        same = row.model_copy(update={"model": model, "arrivals": _arrivals_renamed(row.arrivals, renamed)})
        rows.append(same if same.label == row.label else same.model_copy(update={"name": row.label}))
    cost = scenario.cost
    if cost.measured:
        cost = cost.model_copy(update={"measured": renamed(cost.measured)})
    training = scenario.training and _training_renamed(scenario, scenario.training, renamed)
    plan = scenario.plan
    if plan is not None and plan.profile:
        plan = plan.model_copy(update={"profile": renamed(plan.profile)})
    serverless = scenario.serverless and _profiles_renamed(scenario.serverless, renamed)
    update = {
        "workload": tuple(rows),
        "language": tuple(_language_renamed(row, renamed) for row in scenario.language),
        "cluster": _engines_renamed(scenario.cluster, renamed),
        "cost": cost,
        "training": training,
        "plan": plan,
        "serverless": serverless,
    }
    return scenario.model_copy(update=update)


def _arrivals_renamed(arrivals: ArrivalsSpec, renamed: Callable[[str], str]) -> ArrivalsSpec:
    trace = arrivals.trace
    return arrivals if trace is None else arrivals.model_copy(update={"trace": renamed(trace)})


def _language_renamed(row: LanguageRow, renamed: Callable[[str], str]) -> LanguageRow:
    model, trace = row.llm.model, row.llm.trace
    files = {"model": renamed(model) if is_config(model) else model, "trace": trace and renamed(trace)}
    changes = {
        "llm": row.llm.model_copy(update=files),
        "arrivals": _arrivals_renamed(row.arrivals, renamed),
    }
    same = row.model_copy(update=changes)
    return same if same.label == row.label else same.model_copy(update={"name": row.label})


def _engines_renamed(cluster: ClusterSpec, renamed: Callable[[str], str]) -> ClusterSpec:
    groups = []
    for group in cluster.servers:
        engine = group.engine
        if engine is not None and engine.model and is_config(engine.model):
            changed = engine.model_copy(update={"model": renamed(engine.model)})
            group = group.model_copy(update={"engine": changed})
        groups.append(group)
    return cluster.model_copy(update={"servers": tuple(groups)})


def _profiles_renamed(serverless: ServerlessSpec, renamed: Callable[[str], str]) -> ServerlessSpec:
    functions = {
        name: f.model_copy(update={"profile": renamed(f.profile)}) if f.profile is not None else f
        for name, f in serverless.functions.items()
    }
    return serverless.model_copy(update={"functions": functions})


def _training_renamed(
    scenario: Scenario, training: TrainingSpec, renamed: Callable[[str], str]
) -> TrainingSpec:
    jobs = []
    for job in training.jobs:
        model = _costed_model(training, job)
        if model and is_file(scenario, model):
            batch = batch_of(job.model or "")[1]
            job = job.model_copy(update={"model": with_batch(renamed(model), batch)})
        jobs.append(job)
    table = training.throughputs
    return training.model_copy(
        update={
            "trace": None if training.trace is None else renamed(training.trace),
            "jobs": tuple(jobs),
            "throughputs": table if table in TABLES else renamed(table),
            "elastic": training.elastic and _elastic_renamed(training.elastic, renamed),
        }
    )


def _elastic_renamed(elastic: ElasticSpec, renamed: Callable[[str], str]) -> ElasticSpec:
    profiles = elastic.profiles
    if profiles is not None:
        profiles = profiles.model_copy(update={key: renamed(name) for key, name in profiles})
    workload = elastic.workload if elastic.shipped else renamed(elastic.workload)
    return elastic.model_copy(update={"workload": workload, "profiles": profiles})


SMALL = 5_000
"""Nodes and edges of a model inside a scenario that this process reads by itself, in less than 0.1 s."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Reads the files and models that a scenario names.

    ``base``: folder that relative paths start from; ``None``: no files at all.
    ``confined``: true if only plain names of files in ``base`` are allowed.
    ``in_memory``: files of a bundle, by name; they come first.
    """

    base: Path | None = None
    confined: bool = False
    in_memory: Mapping[str, bytes] | None = field(default=None, hash=False)

    def read(self, name: str) -> bytes:
        """Return the content of a file.

        Parameters
        ----------
        name : str
            The file's name, as in the scenario.

        Returns
        -------
        bytes
            The whole file.

        Raises
        ------
        GraphError
            If the file is missing, not regular, too large, or outside ``base`` though confined.
        """
        if self.in_memory and name in self.in_memory:
            return self.in_memory[name]
        path = self._path(name)
        try:
            return read_model_file(path, f"File {name!r}")
        except FileNotFoundError:
            raise GraphError(f"File {name!r}: it is not here; {self._remedy()}.") from None

    def is_sample(self, name: str) -> bool:
        """Return whether ``name`` is that of a shipped model."""
        return name in sample_names()

    def model(
        self,
        name: str,
        symbols: Mapping[str, int] | None = None,
        inline: Mapping[str, Mapping[str, object]] | None = None,
    ) -> ModelGraph:
        """Return the graph of a model: from the scenario, a sample, or a file.

        Parameters
        ----------
        name : str
            The model's name, as in the scenario.
        symbols : mapping of str to int, optional
            Numbers for symbolic dimensions, by name.
        inline : mapping of str to mapping, optional
            The scenario's own models (its part ``models``).

        Returns
        -------
        ModelGraph
            The model's operators and tensors.

        Raises
        ------
        GraphError
            If there is no such model, or it cannot be read.
        """
        if inline and name in inline:
            return _inline_model(inline[name], name)
        if name in sample_names():
            return load_sample(name)
        if PurePath(name).suffix == "":
            raise GraphError(
                f"Model {name!r}: it is no sample and has no file extension; choose one of "
                f"{', '.join(sample_names())}, or name a file."
            )
        return read_model(self.read(name), PurePath(name).name, symbols=symbols)

    def check(self, scenario: Scenario) -> None:
        """Raise one :class:`ScenarioError` that lists all missing files and models, if any."""
        problems = [p for file in named_files(scenario) for p in self.missing(file.place, file.name)]
        if problems:
            raise ScenarioError(problems)

    def missing(self, place: str, name: str) -> list[str]:
        """Return one line if the file ``name``, which a scenario has at ``place``, is missing; else none."""
        try:
            if (self.in_memory and name in self.in_memory) or self._path(name).is_file():
                return []
        except GraphError as error:
            return [f"{place}: {error}"]
        except (OSError, ValueError):  # a name that no file can have
            pass
        hint = "" if PurePath(name).suffix else f", or a sample ({', '.join(sample_names())})"
        return [f"{place}: {name!r} is not a file here{hint}; {self._remedy()}."]

    def _remedy(self) -> str:
        first = "upload it" if self.confined else "put it beside the scenario"
        return f"{first}, or open the scenario's bundle (.nona.zip), which contains its files"

    def _path(self, name: str) -> Path:
        pure = PurePath(name)
        if self.base is None:
            if self.in_memory is not None:
                raise GraphError(f"File {name!r}: the bundle does not contain it; pack it again.")
            raise GraphError(f"File {name!r}: no files belong to this scenario; use a sample's name.")
        if self.confined and (len(pure.parts) != 1 or name in {"", ".", ".."} or "\\" in name):
            raise GraphError(f"File {name!r}: only the names of uploaded files are allowed; upload it.")
        return self.base / pure


def _inline_model(document: Mapping[str, object], name: str) -> ModelGraph:
    """Return a model inside a scenario; a large one is read in a child process with limits, as a file is."""
    parts = (document.get(part) for part in ("nodes", "links", "edges"))
    if sum(len(part) for part in parts if isinstance(part, Sized)) <= SMALL:
        return from_node_link(document, name)
    return replace(parse_guarded("json", json.dumps(document).encode(), name), name=name)
