"""YAML text to plain data: bounded, without aliases, each key once; errors name line and column.

JSON is YAML, too. libyaml does the parsing where PyYAML was built with it.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from nona.errors import ScenarioError
from nona.scenario.gate import one_line, shown
from nona.scenario.limits import MAX_BYTES, MAX_DEPTH, MAX_INTEGER_TEXT, MAX_VALUES

_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_UNREADABLE = (KeyError, IndexError, AttributeError, TypeError, ValueError, OverflowError)


class _PlainLoader(_Loader):  # type: ignore[misc, valid-type]
    """Refuses what PyYAML accepts silently, or fails on with other errors than its own."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        whole = isinstance(node, yaml.ScalarNode) and node.tag.endswith(":int")
        if whole and len(node.value) > MAX_INTEGER_TEXT:
            why = f"a whole number of {len(node.value):,} digits"
            raise ConstructorError(None, None, why, node.start_mark)
        try:
            return super().construct_object(node, deep)
        except _UNREADABLE:
            kind, value = node.tag.rpartition(":")[2], shown(node.value)
            raise ConstructorError(
                None, None, f"{value} is not of the kind {kind}", node.start_mark
            ) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: dict[tuple[str, str], int] = {}
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode):
                mark = (key.tag, key.value)
                if mark in seen:
                    why = f"the key {shown(key.value)} stands here and in line {seen[mark]}; remove one"
                    raise ConstructorError(None, None, why, key.start_mark)
                seen[mark] = key.start_mark.line + 1
        made: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return made


def load_yaml(text: str, what: str = "Scenario") -> object:
    """What the text holds; ``what`` is its name in errors.

    Raises
    ------
    ScenarioError
        In one line, whatever the text is.

    Examples
    --------
    >>> load_yaml("{a: 1, a: 2}")
    Traceback (most recent call last):
    nona.errors.ScenarioError: Scenario: not valid YAML at line 1, column 8: the key 'a' stands here and in \
line 1; remove one; mend the text there.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise ScenarioError(
            [f"{what}: it is larger than {MAX_BYTES // 10**6} MB; keep models in files of their own."]
        )
    try:
        _check_size(text, what)
        return yaml.load(text, Loader=_PlainLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        why = one_line((error.problem or "not readable").replace("\n", " "))
        raise ScenarioError([f"{what}: not valid YAML{where}: {why}; mend the text there."]) from None
    except UnicodeError:
        raise ScenarioError(
            [f"{what}: it holds half a character (a lone surrogate); write it again."]
        ) from None
    except (yaml.YAMLError, RecursionError) as error:
        why = one_line(str(error).splitlines()[0] if str(error) else type(error).__name__)
        raise ScenarioError([f"{what}: not valid YAML ({why}); give a YAML or JSON file."]) from None


def _check_size(text: str, what: str) -> None:
    depth = values = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            raise ScenarioError([f"{what}: YAML aliases (*name) are not allowed; write the value out."])
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        values += isinstance(event, yaml.NodeEvent)
        if depth > MAX_DEPTH:
            raise ScenarioError([f"{what}: nested deeper than {MAX_DEPTH} levels; flatten it."])
        if values > MAX_VALUES:
            raise ScenarioError(
                [f"{what}: it holds more than {MAX_VALUES:,} values; keep models in files of their own."]
            )
