"""The types of a scenario's values: quantities with units, names, the base of its parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer
from pydantic_core import PydanticCustomError

from nona.core.units import Dimension, parse_quantity, quantity_text

_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,200}")


def field(
    default: Any,
    title: str,
    about: str,
    *,
    choices: Mapping[Any, str] | Callable[[], Mapping[Any, str]] | None = None,
    when: tuple[str, Any] | None = None,
    none: str = "",
    **bounds: Any,
) -> Any:
    """Return a field of the scenario, with the words that forms, options, errors and documents say of it.

    ``about`` says the effect and, where it has one, the source of the default; ``choices`` has the words of
    values; ``when`` names the field beside it and its values (or a function that returns them) with which
    this one counts; ``none`` says what no value means.
    """
    words: Any = {"choices": choices or {}, "when": when, "none": none}
    return Field(default, title=title, description=about, json_schema_extra=words, **bounds)


@dataclass(frozen=True, slots=True)
class QuantityField:
    """Marks a field as a quantity of a dimension."""

    dimension: Dimension


def quantity(dimension: Dimension) -> tuple[BeforeValidator, PlainSerializer, QuantityField]:
    """Return the parser and the formatter of a quantity of a dimension, with its unit, and the dimension."""

    def parse(value: object) -> float:
        try:
            return parse_quantity(value, dimension)  # type: ignore[arg-type]
        except ValueError as error:
            raise PydanticCustomError("quantity", "{why}", {"why": str(error)}) from None

    def dump(value: float) -> str | float:
        return quantity_text(value, dimension)

    return BeforeValidator(parse), PlainSerializer(dump, return_type=str | float), QuantityField(dimension)


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise PydanticCustomError("name", "a name must have 1 to 200 printable characters; write another one")
    return value


def one_of(registered: Callable[[], Iterable[str]]) -> BeforeValidator:
    """Return a check that a value is a name which ``registered`` gives when the value is read."""

    def check(value: object) -> object:
        names = tuple(registered())
        if value not in names:
            *others, last = map(repr, names)
            expected = f"{', '.join(others)} or {last}" if others else last
            raise PydanticCustomError("choice", "must be {expected}", {"expected": expected})
        return value

    return BeforeValidator(check)


def _joined(value: object) -> object:
    """Join the layouts of a list, one for each GPU, into a text."""
    if not isinstance(value, list | tuple):
        return value
    if not value or not all(isinstance(one, str) for one in value):
        raise PydanticCustomError(
            "layouts",
            "a list has a text for each GPU: its slices, or whole; write [whole, '3g.20gb, 3g.20gb']",
        )
    return " | ".join(value)


def _each_named(value: str) -> str:
    for one in value.split("|"):
        _name(one.strip())
    return value


def listed_layouts(text: str) -> str | list[str]:
    """Return the layouts of a server's GPUs as a file has them: a list where they differ.

    >>> listed_layouts("3g.20gb | whole"), listed_layouts("3g.20gb, 3g.20gb")
    (['3g.20gb', 'whole'], '3g.20gb, 3g.20gb')
    """
    layouts = [one.strip() for one in text.split("|")]
    return layouts if len(layouts) > 1 else text


Name = Annotated[str, AfterValidator(_name)]
Layouts = Annotated[
    str,
    BeforeValidator(_joined),
    AfterValidator(_each_named),
    PlainSerializer(listed_layouts, return_type=str | list[str]),
]
"""MIG layouts of a server's GPUs, as :func:`nona.cluster.hardware.mig.gpu_layouts` reads them."""
Share = Annotated[float, *quantity("fraction")]
Time = Annotated[float, *quantity("time")]
Seconds = Annotated[float, *quantity("time"), Field(ge=0, le=1e6)]
PositiveSeconds = Annotated[float, *quantity("time"), Field(gt=0, le=1e6)]
Bytes = Annotated[float, *quantity("size"), Field(ge=0, le=1e15)]
PositiveBytes = Annotated[float, *quantity("size"), Field(gt=0, le=1e15)]
Bandwidth = Annotated[float, *quantity("bandwidth"), Field(gt=0, le=1e15)]
Rate = Annotated[float, *quantity("rate"), Field(gt=0, le=1e9)]
Fraction = Annotated[float, *quantity("fraction"), Field(ge=0, lt=1)]
Scv = Annotated[float, Field(ge=0, le=1000)]


class ScenarioPart(BaseModel):
    """Immutable; unknown keys and numbers that are not finite are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=False)


def _warmup(value: object) -> object:
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 100_000_000
    if value not in ("auto", "mser") and not whole:
        raise PydanticCustomError(
            "warmup",
            "{value} must be 'mser', 'auto' or a whole number of jobs from 0 to 10^8",
            {"value": repr(value)},
        )
    return value


Warmup = Annotated[Literal["auto", "mser"] | int, BeforeValidator(_warmup)]


def named_entry(value: object) -> object:
    """Return an entry that a file may write as a name, or as a name with its options.

    >>> named_entry("expert"), named_entry({"expert": {"table": 1}})
    ({'name': 'expert'}, {'name': 'expert', 'options': {'table': 1}})
    """
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, Mapping) and len(value) == 1 and "name" not in value:
        ((name, options),) = value.items()
        return {"name": name, "options": options or {}}
    return value


def named_text(value: Any) -> Any:
    """Format an entry for :func:`named_entry`: the name, with options where there are some."""
    return {value.name: value.options} if value.options else value.name


class NamedSpec(ScenarioPart):
    """A scheduler or policy by name, with its options; in a file also just the name."""

    name: Name = field(..., "Name", "Of a scheduler or policy, see `nona schedulers`.")
    options: dict[str, Any] = field({}, "Options", "By name; those that are left out keep their defaults.")

    @property
    def options_text(self) -> str:
        """The options in a line, as a file writes them; one that is no single value by its name alone.

        >>> NamedSpec(name="x", options={"early_drop": True, "d": 3, "models": {"a": "half"}}).options_text
        'early_drop: true, d: 3, models'
        """
        texts = {n: str(v).lower() if isinstance(v, bool) else v for n, v in self.options.items()}
        return ", ".join(n if isinstance(v, dict | list) else f"{n}: {v}" for n, v in texts.items())


NamedEntries = tuple[Annotated[NamedSpec, BeforeValidator(named_entry), PlainSerializer(named_text)], ...]


def named(title: str, about: str, names: str) -> Any:
    """Return a field of :data:`NamedEntries`, at least one; ``names`` by default."""
    entries = tuple(NamedSpec(name=name) for name in names.split())
    return field(entries, title, about, min_length=1, max_length=50)
