"""YAML and JSON with the line of every value: plain data, bounded; only text and numbers are made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from nona.core.errors import DeploymentError
from nona.scenario.gate import MAX_DEPTH, MAX_VALUES, one_line, shown

Path = tuple[str | int, ...]
MOST_YAML_BYTES = 1_000_000
MOST_DOCUMENTS = 500
MOST_JSON_VALUES = 2_000_000
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN = yaml.SafeLoader("")  # constructs scalars


@dataclass(frozen=True, slots=True)
class Tree:
    """What a document of a file holds: mappings, lists, text, numbers; and on which lines."""

    file: str
    data: Any
    lines: Mapping[Path, int]

    def place_of(self, *path: str | int) -> str:
        r"""Return file and line of the value at a path; of what holds it, where it is not there.

        >>> tree = yaml_trees("a:\n  b: 1\n", "x.yaml")[0]
        >>> tree.place_of("a", "b"), tree.place_of("a", "c", "d")
        ('x.yaml:2', 'x.yaml:1')
        """
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.file}:{self.lines.get(path, 1)}"

    def mapping(self, *path: str | int) -> Mapping[str, Any]:
        """Return the mapping at a path; an empty one where there is nothing.

        Raises ``DeploymentError`` where something else stands there.
        """
        value = self.get(*path)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise self._refused(path, value, "a mapping", "write keys with values")
        return value

    def entries(self, *path: str | int) -> list[Any]:
        """Return the list at a path; an empty one where there is nothing."""
        value = self.get(*path)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._refused(path, value, "a list", "write entries")
        return value

    def text(self, *path: str | int) -> str:
        """Return the text at a path, a number as text; empty where there is nothing."""
        value = self.get(*path)
        if value is None:
            return ""
        if isinstance(value, bool):
            return str(value).lower()
        if not isinstance(value, str | int | float):
            raise self._refused(path, value, "a text", "put it in quotes")
        return one_line(str(value))[:500]

    def number(self, *path: str | int, least: float = 0.0, most: float = 1e15) -> float | None:
        """Return the number at a path, also one in quotes; ``None`` where there is nothing."""
        value = self.get(*path)
        if value is None:
            return None
        try:
            number = float("nan") if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = float("nan")
        if not least <= number <= most:
            raise self._refused(path, value, f"a number from {least:g} to {most:g}", "correct it")
        return number

    def whole(self, *path: str | int, least: int = 0, most: int = 10**9) -> int | None:
        """Return the whole number at a path; ``None`` where there is nothing."""
        number = self.number(*path, least=least, most=most)
        if number is not None and number != int(number):
            raise self._refused(path, self.get(*path), "a whole number", "round it")
        return None if number is None else int(number)

    def get(self, *path: str | int) -> Any:
        """Return what stands at a path; ``None`` where there is nothing."""
        value = self.data
        for i, part in enumerate(path):
            if value is None:
                return None
            if isinstance(part, int):
                if not isinstance(value, list):
                    raise self._refused(path[:i], value, "a list", "write entries")
                value = value[part] if part < len(value) else None
            else:
                if not isinstance(value, Mapping):
                    raise self._refused(path[:i], value, "a mapping", "write keys with values")
                value = value.get(part)
        return value

    def _refused(self, path: Path, value: object, kind: str, remedy: str) -> DeploymentError:
        name = ".".join(map(str, path)) or "the document"
        return DeploymentError(
            f"{self.place_of(*path)}: {one_line(name)[:100]}: {one_line(shown(value))} must be {kind}; "
            f"{remedy}."
        )


def yaml_trees(text: str, file: str) -> list[Tree]:
    """Return the documents of a YAML text.

    Raises ``DeploymentError`` in one line for what is not YAML, too much of it, or aliases.
    """
    if len(text) > MOST_YAML_BYTES:
        raise DeploymentError(
            f"{file}:1: YAML of more than {MOST_YAML_BYTES // 10**6} MB; give fewer objects."
        )
    try:
        _check(text, file)
        nodes = [node for node in yaml.compose_all(text, _Loader) if node is not None]
        trees = []
        for node in nodes:
            lines: dict[Path, int] = {}
            trees.append(Tree(file, _data(node, (), lines, file), lines))
        return trees
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = one_line((error.problem or "not readable").replace("\n", " "))
        raise DeploymentError(f"{file}:{getattr(mark, 'line', 0) + 1}: no YAML: {why}; mend it.") from None
    except (yaml.YAMLError, RecursionError, UnicodeError) as error:
        why = one_line(str(error).splitlines()[0] if str(error) else type(error).__name__)
        raise DeploymentError(f"{file}:1: no YAML: {why}; mend it.") from None


def _check(text: str, file: str) -> None:
    depth = values = documents = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = getattr(event.start_mark, "line", 0) + 1
        if isinstance(event, yaml.AliasEvent):
            raise DeploymentError(f"{file}:{line}: YAML aliases (*name) are not read; write the value out.")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        values += isinstance(event, yaml.NodeEvent)
        documents += isinstance(event, yaml.DocumentStartEvent)
        if depth > MAX_DEPTH or values > MAX_VALUES or documents > MOST_DOCUMENTS:
            raise DeploymentError(
                f"{file}:{line}: more than {MAX_DEPTH} levels, {MAX_VALUES:,} values or {MOST_DOCUMENTS} "
                "documents; give fewer objects."
            )


def _data(node: yaml.Node, path: Path, lines: dict[Path, int], file: str) -> Any:
    lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        data: dict[str, Any] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else None
            if name is None or name in data:
                why = "a key is no text" if name is None else f"the key {shown(name)} stands here twice"
                raise DeploymentError(f"{file}:{key.start_mark.line + 1}: {one_line(why)}; correct it.")
            data[name] = _data(value, (*path, name), lines, file)
            lines[(*path, name)] = key.start_mark.line + 1
        return data
    if isinstance(node, yaml.SequenceNode):
        return [_data(value, (*path, i), lines, file) for i, value in enumerate(node.value)]
    kind = node.tag.rpartition(":")[2]
    if kind in ("int", "float", "bool", "null") and len(node.value) <= 100:
        try:
            return _PLAIN.construct_object(node)
        except (ValueError, KeyError, IndexError, OverflowError):
            return str(node.value)
    return str(node.value)


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]++|\n', re.DOTALL)


def json_tree(text: str, file: str) -> Tree:
    r"""Return the document of a JSON text; raises ``DeploymentError`` in one line for what is none.

    >>> tree = json_tree('{"a": [1,\n {"b": 2}]}', "x.json")
    >>> tree.place_of("a", 1, "b"), tree.number("a", 1, "b")
    ('x.json:2', 2.0)
    """
    if text.count(",") + text.count(":") > MOST_JSON_VALUES:
        raise DeploymentError(f"{file}:1: more than {MOST_JSON_VALUES:,} values; give fewer.")
    try:
        data = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise DeploymentError(f"{file}:{error.lineno}: no JSON: {one_line(error.msg)}; mend it.") from None
    except (ValueError, RecursionError) as error:
        raise DeploymentError(f"{file}:1: no JSON: {one_line(str(error))[:200]}; mend it.") from None
    return Tree(file, data, dict(_lines(text)))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(pairs)


def _lines(text: str) -> Iterator[tuple[Path, int]]:
    """Yield the path and line of every key and entry of a text that is JSON."""
    line, path = 1, list[str | int]()
    waits = False  # for a key
    key: str | None = None
    entry = False  # begins with the next token
    yield (), 1
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == "\n":
            line += 1
            continue
        if entry and token != "]":
            yield tuple(path), line
        entry = False
        if token in "{[":
            path.append(0 if token == "[" else "")
            waits, entry = token == "{", token == "["
        elif token in "}]":
            path.pop()
            waits = False
        elif token == ",":
            if isinstance(last := path[-1], int):
                path[-1], entry = last + 1, True
            else:
                waits = True
        elif token == ":":
            if key is not None:
                path[-1] = key
                yield tuple(path), line
                key = None
        elif waits:
            key, waits = json.loads(token), False
