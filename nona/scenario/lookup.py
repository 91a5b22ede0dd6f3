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
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from nona.core.errors import GraphError, ScenarioError
from nona.models.graph.guard import parse_guarded
from nona.models.graph.model import ModelGraph
from nona.models.graph.node_link import from_node_link
from nona.models.graph.readers import read_model, read_model_file
from nona.scenario.gate import entries, mapping
from nona.scenario.language import moved_together
from nona.scenario.sample_files import load_sample, sample_names
from nona.scenario.training import GAVEL, MODELLED, TABLES, batch_of

if TYPE_CHECKING:
    from nona.scenario.language import LanguageRow
    from nona.scenario.schema import Scenario, WorkloadRow


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


MOST_JOBS = 10_000  # of a training cluster, that are looked at
Kind = Literal["model", "config", "trace", "measured", "times", "throughputs", "profile", "elastic"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that stands at ``place`` in a scenario: in its data under ``key`` of ``part``."""

    place: str
    name: str
    kind: Kind
    part: dict[str, Any]
    key: str

    def rename(self, name: str) -> None:
        """Write another name in its place; what stands behind it, as a batch size, stays."""
        self.part[self.key] = self.part[self.key].replace(self.name, name, 1)


def files_in(data: Mapping[str, Any]) -> Iterator[NamedFile]:
    """Every place that names a file in the data of a scenario file, whatever else that holds, in its order.

    Models that are samples, or held by the scenario itself, are no files.
    """
    inside, training = mapping(data.get("models")), mapping(data.get("training"))
    for i, row in enumerate(map(mapping, entries(data.get("workload")))):
        at, llm = f"workload[{i}]", mapping(row.get("llm"))
        yield from (file for file in _at(at, row, "model", "model") if not _is_there(file.name, inside))
        yield from (file for file in _at(f"{at}.llm", llm, "model", "config") if is_config(file.name))
        yield from _at(f"{at}.llm", llm, "trace", "trace")
        for place, part in ((at, row), (f"{at}.llm", llm)):
            yield from _at(f"{place}.arrivals", part.get("arrivals"), "trace", "trace")
    yield from _at("cost", data.get("cost"), "measured", "measured")
    for name, function in mapping(mapping(data.get("serverless")).get("functions")).items():
        yield from _at(f"serverless.functions.{name}", function, "profile", "times")
    yield from _at("training", training, "trace", "trace")
    for i, job in enumerate(map(mapping, entries(training.get("jobs"), MOST_JOBS))):
        if model := costed_model(job, training.get("throughputs", GAVEL), inside):
            yield NamedFile(f"training.jobs[{i}].model", model, "model", cast(dict[str, Any], job), "model")
    tables = _at("training", training, "throughputs", "throughputs")
    yield from (file for file in tables if file.name not in TABLES)
    elastic = mapping(training.get("elastic"))
    workload = _at("training.elastic", elastic, "workload", "elastic")
    yield from (file for file in workload if not file.name.isdecimal())
    for key in mapping(elastic.get("profiles")):
        yield from _at("training.elastic.profiles", elastic["profiles"], key, "elastic")
    yield from _at("plan", data.get("plan"), "profile", "profile")


def _at(place: str, part: object, key: str, kind: Kind) -> Iterator[NamedFile]:
    if isinstance(part, dict) and isinstance(name := part.get(key), str) and name:
        yield NamedFile(f"{place}.{key}", name, kind, part, key)


def named_files(scenario: Scenario) -> Iterator[NamedFile]:
    """Every place of a scenario that names a file; see :func:`files_in`."""
    parts = {"workload", "language", "cost", "serverless", "training", "plan"}
    written = scenario.model_dump(mode="json", include=parts)
    return files_in(moved_together(written) | {"models": scenario.models})


def costed_model(job: Mapping[str, Any], table: object, models: Mapping[str, Any]) -> str:
    """Return the model that the cost layer must time, if it is neither a sample nor inside the scenario.

    Parameters
    ----------
    job
        An entry of ``training.jobs``.
    table
        ``training.throughputs``.
    models
        The models inside the scenario.
    """
    name, kind = job.get("model"), job.get("kind", "training")
    if not isinstance(name, str) or job.get("throughputs") or kind == "interactive":
        return ""
    model = batch_of(name)[0]
    return "" if _is_there(model, models) or (kind != "inference" and table != MODELLED) else model


def _is_there(model: str, models: Mapping[str, Any]) -> bool:
    return model in models or model in sample_names()


def is_file(scenario: Scenario, model: str) -> bool:
    """Return whether a model is to be read from a file."""
    return not _is_there(model, scenario.models)


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
    data = scenario.model_dump(mode="json")
    together = moved_together(data)
    for file in list(files_in(together)):
        file.rename(renamed(file.name))
    for group in data["cluster"]["servers"]:
        engine = group["engine"]
        if engine and engine["model"] and is_config(engine["model"]):
            engine["model"] = renamed(engine["model"])
    rows: tuple[WorkloadRow | LanguageRow, ...] = (*scenario.workload, *scenario.language)
    for row, written in zip(rows, together["workload"], strict=True):
        if type(row).model_validate(written).label != row.label:
            written["name"] = row.label
    return scenario.model_validate(data)


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
