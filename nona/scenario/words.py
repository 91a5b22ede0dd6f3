"""The words of the scenario's fields, read from the schema by their places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BeforeValidator
from pydantic.fields import FieldInfo

from nona.core.units import Dimension, quantity_text
from nona.scenario.schema import Scenario
from nona.scenario.values import QuantityField, ScenarioPart

Place = Sequence[str | int]
_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


@dataclass(frozen=True, slots=True)
class FieldWords:
    """The words of a field: of :func:`nona.scenario.values.field`, and of its type.

    ``kind`` is what a value is: a type, or the class of a part, of its own or as the entries of a list or
    mapping; ``names`` are the words that a file may have there, ``own`` is true where it may have others too;
    ``written`` is true where a number is written in words of its own, such as a price.
    """

    title: str
    about: str
    default: Any
    none: str
    optional: bool
    kind: type
    several: bool
    written: bool
    dimension: Dimension | None
    bounds: Mapping[str, float]
    when: tuple[str, Any] | None
    given: Any
    names: tuple[Any, ...]
    own: bool

    @property
    def required(self) -> bool:
        """True where a file must have it."""
        return self.default is ...

    @property
    def plain(self) -> bool:
        """True for one number that has neither a unit nor words of its own."""
        marked = self.several or self.optional or self.written or self.dimension is not None
        return self.kind in (int, float) and not marked

    @property
    def choices(self) -> dict[Any, str]:
        """Each value that can be chosen, with its words; empty where there is no choice."""
        words = dict(self.given() if callable(self.given) else self.given)
        return {name: words.get(name, str(name)) for name in self.names} | words

    def counts(self, beside: ScenarioPart) -> bool:
        """Return whether the field counts, given the part in which it stands."""
        if self.when is None:
            return True
        name, values = self.when
        return getattr(beside, name) in (values() if callable(values) else values)

    @property
    def bounds_text(self) -> str:
        """The bounds in words: ``at least 1, at most 48``; empty without any that matters."""
        bounds = {key: bound for key, bound in self.bounds.items() if not (self.dimension and bound >= 1e6)}
        return ", ".join(f"{_BOUNDS[key]} {self._number(bound)}" for key, bound in bounds.items())

    @property
    def default_text(self) -> str:
        """The default as a file writes it, or what no value means, or that a value is required."""
        value = self.default
        if self.required:
            return "required"
        if value is None or value == ():
            return self.none
        if isinstance(value, tuple):
            return ", ".join(str(getattr(one, "name", one)) for one in value)
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, float):
            return self._number(value)
        return "" if value == {} or isinstance(value, ScenarioPart) else str(value)

    def _number(self, value: float) -> str:
        if self.dimension == "fraction":
            return f"{100 * value:.12g} %"
        if self.dimension:
            return str(quantity_text(value, self.dimension))
        return f"{value:,}" if isinstance(value, int) else f"{value:,.12g}"


def lower_first(text: str) -> str:
    """Return a title or sentence as it stands inside another one.

    >>> lower_first("Keep alive"), lower_first("SLO factor")
    ('keep alive', 'SLO factor')
    """
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def path_of(place: str | Place) -> tuple[str | int, ...]:
    """Return the steps to a place, which may be written with dots or as errors write it.

    >>> path_of("workload[0].slo"), path_of("workload.0.slo")
    (('workload', 0, 'slo'), ('workload', 0, 'slo'))
    """
    if not isinstance(place, str):
        return tuple(place)
    steps = place.replace("[", ".").replace("]", "").split(".")
    return tuple(int(step) if step.isdigit() else step for step in steps)


def words(place: str | Place, whole: type[ScenarioPart] = Scenario) -> FieldWords:
    """Return the words of the field at a place; numbers and names of entries are passed over.

    >>> words("workload[0].slo").title, words(("serverless", "containers", "warm")).bounds_text
    ('SLO', 'at least 0, at most 48')

    Raises ``KeyError`` when there is no such field.
    """
    part: type = whole
    wording: FieldWords | None = None
    entered = False  # the list or mapping that was last named
    for step in path_of(place):
        if wording is not None and wording.several and not entered:
            entered = True
        elif issubclass(part, ScenarioPart):
            wording, entered = fields_of(part)[str(step)], False
            part = wording.kind
        else:
            raise KeyError(step)
    if wording is None:
        raise KeyError(place)
    return wording


def value_at(scenario: Scenario, place: str | Place) -> Any:
    """Return the value at a place; ``None`` where an optional part around it is not there.

    >>> from nona.scenario.cluster import ClusterSpec, ServerGroupSpec
    >>> scenario = Scenario(cluster=ClusterSpec(servers=(ServerGroupSpec(),)))
    >>> value_at(scenario, "cluster.servers[0].count"), value_at(scenario, "plan.prices.kind")
    (1, None)
    """
    node: Any = scenario
    for step in path_of(place):
        if node is not None:
            node = getattr(node, str(step)) if isinstance(node, ScenarioPart) else node[step]
    return node


def title_of(place: str | Place) -> str:
    """Return the title of the field at a place, of an entry the title of its mapping.

    Else the last name there.

    >>> title_of("workload[0].slo"), title_of("cost.given.my_model"), title_of("no.field")
    ('SLO', 'Times in files', 'field')
    """
    try:
        return words(place).title
    except KeyError:
        return str(path_of(place)[-1])


@cache
def fields_of(part: type[ScenarioPart]) -> Mapping[str, FieldWords]:
    """Return the fields of a part in their order."""
    return {name: _words(info) for name, info in part.model_fields.items()}


def parts(part: type[ScenarioPart] = Scenario, place: str = "") -> Iterator[tuple[str, type[ScenarioPart]]]:
    """Each part of a scenario with its place, ``workload[].arrivals``, in the order of the schema."""
    yield place, part
    for name, wording in fields_of(part).items():
        if issubclass(wording.kind, ScenarioPart):
            yield from parts(wording.kind, f"{place}.{name}".lstrip(".") + "[]" * wording.several)


def _words(info: FieldInfo) -> FieldWords:
    extra: Any = info.json_schema_extra or {}
    kind, marks, optional = _unfolded(info.annotation, info.metadata)
    several = get_origin(kind) in (tuple, dict)
    if several:
        kind = _unfolded([one for one in get_args(kind) if one is not ...][-1], [])[0]
    members = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    names = tuple(name for one in members if get_origin(one) is Literal for name in get_args(one))
    kind = str if names else get_origin(kind) or kind
    bounds = {key: getattr(mark, key) for mark in marks for key in _BOUNDS if hasattr(mark, key)}
    dimension = next((m.dimension for m in marks if isinstance(m, QuantityField)), None)
    return FieldWords(
        title=info.title or "",
        about=info.description or "",
        default=... if info.is_required() else info.get_default(call_default_factory=True),
        none=extra.get("none", ""),
        optional=optional,
        kind=kind if isinstance(kind, type) else object,
        several=several,
        written=dimension is None and kind is float and any(isinstance(m, BeforeValidator) for m in marks),
        dimension=dimension,
        bounds=bounds,
        when=extra.get("when"),
        given=extra.get("choices", {}),
        names=names,
        own=len(members) > 1,
    )


def _unfolded(annotation: Any, marks: Sequence[Any]) -> tuple[Any, list[Any], bool]:
    """Return the type inside of ``Annotated`` and ``| None``, its marks, and whether it may be none."""
    marks, optional = list(marks), False
    while True:
        members = [one for one in get_args(annotation) if one is not NoneType]
        if get_origin(annotation) is Annotated:
            annotation, *more = get_args(annotation)
            marks += [m for one in more for m in (one.metadata if isinstance(one, FieldInfo) else [one])]
        elif get_origin(annotation) in (Union, UnionType) and len(members) == 1:
            annotation, optional = members[0], True
        else:
            return annotation, marks, optional
