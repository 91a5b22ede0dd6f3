"""Where a scenario's models and tables come from: samples, the scenario itself, files.

In the browser the files are uploads: they are *confined* to the session's own folder, and a
scenario cannot name any other path.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sized
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from nona.errors import GraphError, ScenarioError
from nona.foreign.files import read_file
from nona.graph.guarded.guard import parse_guarded
from nona.graph.model import ModelGraph
from nona.graph.node_link.document import from_node_link
from nona.graph.readers import MAX_BYTES, read_model
from nona.scenario.schema import Scenario
from nona.sources.named import named_files
from nona.sources.samples import load_sample, sample_names

SMALL = 5_000
"""Nodes and edges of a model inside a scenario that this process reads by itself, in less than 0.1 s."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Resolves the names in a scenario.

    Parameters
    ----------
    base
        Folder that relative paths start from; ``None``: no files at all.
    confined
        Whether only plain names of files in ``base`` are allowed.
    held
        Files in memory by name, which are those of a bundle; they come first.
    """

    base: Path | None = None
    confined: bool = False
    held: Mapping[str, bytes] | None = field(default=None, hash=False)

    def read(self, name: str) -> bytes:
        """Bytes of the file ``name``.

        Raises
        ------
        GraphError
            When it is missing, no regular file, too large, or outside ``base`` though confined.
        """
        if self.held and name in self.held:
            return self.held[name]
        path = self._path(name)
        try:
            return read_file(path, f"File {name!r}", MAX_BYTES, GraphError)
        except FileNotFoundError:
            raise GraphError(f"File {name!r}: it is not here; {self._remedy()}.") from None

    def is_sample(self, name: str) -> bool:
        """Whether ``name`` is that of a shipped model."""
        return name in sample_names()

    def model(
        self,
        name: str,
        symbols: Mapping[str, int] | None = None,
        inline: Mapping[str, Mapping[str, object]] | None = None,
    ) -> ModelGraph:
        """The model called ``name``: held by the scenario, a file, or a sample.

        Raises
        ------
        GraphError
            When there is none, or it cannot be read.
        """
        if inline and name in inline:
            return _held(inline[name], name)
        if name in sample_names():
            return load_sample(name)
        if PurePath(name).suffix == "":
            raise GraphError(
                f"Model {name!r}: it is no sample and has no file extension; choose one of "
                f"{', '.join(sample_names())}, or name a file."
            )
        return read_model(self.read(name), PurePath(name).name, symbols=symbols)

    def check(self, scenario: Scenario) -> None:
        """Raise one :class:`ScenarioError` that names every file or model that is missing."""
        problems = [p for file in named_files(scenario) for p in self.missing(file.place, file.name)]
        if problems:
            raise ScenarioError(problems)

    def missing(self, place: str, name: str) -> list[str]:
        """One line if the file ``name``, which stands at ``place`` in a scenario, is not here."""
        try:
            if (self.held and name in self.held) or self._path(name).is_file():
                return []
        except GraphError as error:
            return [f"{place}: {error}"]
        except (OSError, ValueError):  # a name that no file can have
            pass
        hint = "" if PurePath(name).suffix else f", or a sample ({', '.join(sample_names())})"
        return [f"{place}: {name!r} is not a file here{hint}; {self._remedy()}."]

    def _remedy(self) -> str:
        """How to get a file that is missing."""
        first = "upload it" if self.confined else "put it beside the scenario"
        return f"{first}, or open the scenario's bundle (.nona.zip), which contains its files"

    def _path(self, name: str) -> Path:
        pure = PurePath(name)
        if self.base is None:
            if self.held is not None:
                raise GraphError(f"File {name!r}: the bundle does not contain it; pack it again.")
            raise GraphError(f"File {name!r}: no files belong to this scenario; use a sample's name.")
        if self.confined and (len(pure.parts) != 1 or name in {"", ".", ".."} or "\\" in name):
            raise GraphError(f"File {name!r}: only the names of uploaded files are allowed; upload it.")
        return self.base / pure


def _held(document: Mapping[str, object], name: str) -> ModelGraph:
    """A model inside a scenario; a large one is read in a child process with limits, as a file is."""
    parts = (document.get(part) for part in ("nodes", "links", "edges"))
    if sum(len(part) for part in parts if isinstance(part, Sized)) <= SMALL:
        return from_node_link(document, name)
    return replace(parse_guarded("json", json.dumps(document).encode(), name), name=name)
