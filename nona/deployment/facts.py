"""What was found in files: read, assumed, not used, asked; each fact with the file and line that says it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import Field

from nona.core.document import Document
from nona.core.errors import DeploymentError, suggestion
from nona.core.units import Dimension, parse_quantity, quantity_text
from nona.deployment.products import device_problem

Kind = Dimension | Literal["count", "number", "text"]
MOST_FACTS = 5000
MOST_CV = 100
GIVEN = "--set"
"""Where an answer stands that a person gave."""
NONE = "none"
_BATCH_TIME = re.compile(r"\s*(\d{1,4})\s*:\s*([^,:]{1,40})")
ASKED = "asked: "
"""Begins what stands in a scenario for a value that is asked, before its key."""


class AnswerError(DeploymentError):
    """An answer that is refused: its ``key``, and the ``problem`` with it."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"{GIVEN} {key[:80]}: {problem}")
        self.key = key
        self.problem = problem


class UnaskedError(AnswerError):
    """An answer to a question that is not asked."""


class Fact(Document):
    """One thing that a file says.

    Parameters
    ----------
    what
        Of what it is, in words.
    value
        As a scenario would write it, with its unit; ``None`` where it is not known yet.
    place
        File and line.
    key
        Name by which it is given in ``--set KEY=VALUE``; empty where it cannot be.
    """

    what: str
    value: str | None
    place: str = Field(alias="from")
    key: str = Field(default="", exclude_if=lambda key: not key)


class Facts(Document):
    """All facts of an import: the JSON of ``nona import --json``."""

    read: tuple[Fact, ...]
    assumed: tuple[Fact, ...]
    not_used: tuple[Fact, ...]
    asked: tuple[Fact, ...]

    @property
    def answered(self) -> dict[str, str]:
        """By the key of an answer, the question."""
        place = f"{GIVEN} "
        left_out = {fact.place: f"{fact.what}: {fact.value}" for fact in self.not_used}
        questions = {fact.place: fact.what for fact in self.read} | left_out
        return {at.removeprefix(place): what for at, what in questions.items() if at.startswith(place)}


def fact(what: str, value: str | None, place: str, key: str = "") -> Fact:
    """Return a fact; its place is called ``from`` in JSON."""
    return Fact.model_validate({"what": what, "value": value, "from": place, "key": key})


def text_of(value: float | str, kind: Kind) -> str:
    """Return a value as a scenario writes it.

    >>> text_of(0.00792, "time"), text_of(4_915_200, "size"), text_of(8.0, "count"), text_of("x", "text")
    ('7.92 ms', '4.9152 MB', '8', 'x')
    """
    if isinstance(value, str):
        return value
    if kind == "count" or kind == "number" or kind == "text":
        return f"{value:.12g}"
    rounded = float(f"{value:.6g}")  # six digits are what these files have
    return str(quantity_text(value if kind == "size" else rounded, kind))


def placeholder(value: float | str | None, key: str, kind: Kind) -> Any:
    """Return a value as a scenario writes it; what asks for it where there is none.

    >>> placeholder(None, "a.rate", "rate"), placeholder(5.0, "a.rate", "rate")
    ('asked: a.rate', '5/s')
    """
    if value is None:
        return f"{ASKED}{key}"
    return (
        text_of(value, kind)
        if isinstance(value, str) or kind not in ("count", "number", "fraction")
        else value
    )


def batch_times(text: str, key: str) -> dict[int, float]:
    """Return the seconds by batch that a person writes.

    >>> batch_times("8 ms", "k"), batch_times("1: 5 ms, 8: 12 ms", "k")
    ({1: 0.008}, {1: 0.005, 8: 0.012})
    """
    parts = list(_BATCH_TIME.finditer(text)) if ":" in text else []
    try:
        times = {int(m[1]): parse_quantity(m[2].strip(), "time") for m in parts}
        times = times or {1: parse_quantity(text.strip(), "time")}
    except ValueError as error:
        raise AnswerError(key, f"{error}.") from None
    if 1 not in times or min(times.values()) <= 0 or min(times) < 1:
        raise AnswerError(key, "the time of one query must be among them; write 1: 5 ms, 8: 12 ms.")
    return dict(sorted(times.items()))


@dataclass
class Ledger:
    """Collects the facts of one import while its files are read.

    ``answers`` are what a person said, by key: a question that has one is no question, and stands among what
    was read.
    """

    answers: Mapping[str, str] = field(default_factory=dict)
    _read: list[Fact] = field(default_factory=list)
    _assumed: list[Fact] = field(default_factory=list)
    _not_used: list[Fact] = field(default_factory=list)
    _asked: dict[str, Fact] = field(default_factory=dict)
    _keys: set[str] = field(default_factory=set)
    _given: set[str] = field(default_factory=set)
    _left_out: set[str] = field(default_factory=set)

    def read(self, what: str, value: float | str, place: str, kind: Kind = "text") -> None:
        """Note what a file says."""
        self._add(self._read, fact(what, text_of(value, kind), place))

    def not_used(self, what: str, value: float | str, place: str, kind: Kind = "text") -> None:
        """Note what a file says and the scenario has no place for."""
        self._add(self._not_used, fact(what, text_of(value, kind), place))

    def assume(
        self, what: str, value: float | str, place: str, kind: Kind = "text", key: str = ""
    ) -> float | str:
        """Return what a person said under ``key``, else the value, which is noted as assumed."""
        given = self._answer(key, what, kind) if key else None
        if given is not None:
            return given
        self._add(self._assumed, fact(what, text_of(value, kind), place, key))
        return value

    def ask(
        self, key: str, what: str, place: str, kind: Kind = "text", hint: float | str | None = None
    ) -> float | str | None:
        """Return the answer; ``None``, and the question is noted, where there is none.

        ``hint`` is what to answer most likely.
        """
        given = self._answer(key, what, kind)
        if given is None and key not in self._asked:
            value = None if hint is None else text_of(hint, kind)
            self._asked[key] = fact(what, value, place, key)
        return given

    def number(self, key: str, what: str, place: str, kind: Kind, hint: float | None = None) -> float | None:
        """Ask for a number."""
        answer = self.ask(key, what, place, kind, hint)
        return answer if isinstance(answer, float) else None

    def device(self, key: str, what: str, place: str, hint: str | None = None) -> str:
        """Ask for a device of the catalogue; empty while there is no answer."""
        answer = self.ask(key, what, place, hint=hint)
        problem = "" if answer is None else device_problem(str(answer))
        if problem:
            raise AnswerError(key, problem)
        return "" if answer is None else str(answer)

    def dropped(self, key: str) -> bool:
        """Return whether a person answered ``none``: there is no such thing."""
        dropped = self.answers.get(key) == NONE
        if dropped:
            self._keys.add(key)
        return dropped

    def left_out(self, model: str, *of: str) -> bool:
        """Return whether a person answered ``none`` to one of the questions ``of`` a model; noted once."""
        key = next((key for name in of if self.dropped(key := f"{model}.{name}")), "")
        if key and key not in self._given:
            self._given.add(key)
            self._left_out.add(model)
            self.not_used(model, "left out, as was answered", f"{GIVEN} {key}")
        return bool(key)

    def facts(self) -> Facts:
        """Return all facts; rates are asked first, as a row that is left out asks nothing else.

        Raises ``UnaskedError`` for an answer to a question that is not asked.
        """
        known = sorted(self._keys)
        for key in self.answers:
            if key not in self._keys:
                raise UnaskedError(
                    key,
                    f"nothing is asked by this name; {suggestion(key, known)}."
                    if known
                    else "nothing is asked; leave it out.",
                )
        return Facts(
            read=tuple(self._read),
            assumed=tuple(f for f in self._assumed if f.what.partition(": ")[0] not in self._left_out),
            not_used=tuple(self._not_used),
            asked=tuple(sorted(self._asked.values(), key=lambda f: not f.key.endswith(".rate"))),
        )

    def _answer(self, key: str, what: str, kind: Kind) -> float | str | None:
        self._keys.add(key)
        text = self.answers.get(key)
        if text is None:
            return None
        value = _parsed(key, text, kind)
        if key not in self._given:
            self._given.add(key)
            self.read(what, value, f"{GIVEN} {key}", kind)
        return value

    def _add(self, facts: list[Fact], fact: Fact) -> None:
        if len(facts) >= MOST_FACTS:
            raise DeploymentError(
                f"{fact.place}: more than {MOST_FACTS:,} facts; give fewer files at a time."
            )
        facts.append(fact)


def _parsed(key: str, text: str, kind: Kind) -> float | str:
    if kind == "text":
        return text
    try:
        if kind != "count" and kind != "number":
            return parse_quantity(text, kind)
        number = float(text)
        if kind == "number":
            if not 0 <= number <= MOST_CV:
                raise ValueError(f"{text[:40]!r} must be from 0 to {MOST_CV}; correct it")
            return number
        if number != int(number) or not 0 < number <= 1e9:
            raise ValueError(f"{text[:40]!r} is not a whole number; write digits only")
        return number
    except (ValueError, OverflowError) as error:
        raise AnswerError(key, f"{error}.") from None
