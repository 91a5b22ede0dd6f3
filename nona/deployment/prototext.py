"""Protobuf's text format as a tree of fields with lines; no field is lost, known or not.

The tokens are those of protobuf's own ``text_format``: comments, joined strings, escapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf import text_format

from nona.core.errors import DeploymentError
from nona.scenario.gate import one_line

MOST_DEPTH = 40
MOST_FIELDS = 100_000

Schema = Mapping[str, "Schema | None"]
"""Field → the fields of its message that are read; ``None``: a value, or a message that is read whole."""


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a field: a message, or a scalar as it is written (text without its quotes)."""

    name: str
    value: Message | str
    line: int

    @property
    def text(self) -> str:
        """The scalar; a message as its number of fields."""
        return self.value if isinstance(self.value, str) else f"{{ {len(self.value.fields)} fields }}"


@dataclass(frozen=True, slots=True)
class Message:
    """A message: its fields in the order of the text."""

    file: str
    line: int
    fields: tuple[Field, ...]

    def all(self, name: str) -> tuple[Field, ...]:
        """Return the values of a field."""
        return tuple(f for f in self.fields if f.name == name)

    def messages(self, name: str) -> tuple[Message, ...]:
        """Return the values of a field whose values are messages."""
        for f in self.all(name):
            if isinstance(f.value, str):
                raise DeploymentError(f"{self.file}:{f.line}: {name} is a message; write {name} {{ … }}.")
        return tuple(f.value for f in self.all(name) if isinstance(f.value, Message))

    def one(self, name: str) -> Message | None:
        """Return the message of a field, or nothing."""
        found = self.messages(name)
        if len(found) > 1:
            raise DeploymentError(f"{self.file}:{found[1].line}: {name} stands twice; keep one of them.")
        return found[0] if found else None

    def text(self, name: str, default: str = "") -> str:
        """Return the scalar of a field."""
        values = self.texts(name)
        return values[-1] if values else default

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the scalars of a field."""
        for f in self.all(name):
            if isinstance(f.value, Message):
                raise DeploymentError(f"{self.file}:{f.line}: {name} is a value; write {name}: …")
        return tuple(f.value for f in self.all(name) if isinstance(f.value, str))

    def whole(self, name: str, default: int, least: int = 0, most: int = 2**31) -> int:
        """Return the whole number of a field."""
        values = self.wholes(name, least, most)
        return values[-1] if values else default

    def wholes(self, name: str, least: int = 0, most: int = 2**31) -> tuple[int, ...]:
        """Return the whole numbers of a field."""
        numbers = []
        for f in self.all(name):
            try:
                number = int(f.text, 0) if len(f.text) < 30 else most + 1
            except ValueError:
                number = least - 1
            if not least <= number <= most:
                raise DeploymentError(
                    f"{self.file}:{f.line}: {name}: {f.text[:40]!r} must be a whole number from {least} to "
                    f"{most}; correct it."
                )
            numbers.append(number)
        return tuple(numbers)

    def pairs(self, name: str) -> dict[str, str]:
        """Return a map of texts."""
        return {m.text("key"): m.text("value") for m in self.messages(name)}

    def place(self, name: str) -> str:
        """Return file and line of a field; of the message where it has none."""
        found = self.all(name)
        return f"{self.file}:{found[0].line if found else self.line}"

    def beyond(self, schema: Schema, prefix: str = "") -> Iterator[tuple[str, Field]]:
        """Yield the values, with their names from the top, of fields that a schema does not have."""
        for f in self.fields:
            if f.name not in schema:
                if isinstance(f.value, Message) and f.value.fields:
                    yield from f.value.beyond({}, f"{prefix}{f.name}.")
                else:
                    yield f"{prefix}{f.name}", f
            elif (inner := schema[f.name]) is not None and isinstance(f.value, Message):
                yield from f.value.beyond(inner, f"{prefix}{f.name}.")


def parse(text: str, file: str) -> Message:
    r"""Return the message of a text.

    Raises ``DeploymentError`` with file and line for what is no text format.

    >>> m = parse('name: "a" "b" dims: [ 3, -1 ]  # pixels\nstep < model_name: \'x\' >', "config.pbtxt")
    >>> m.text("name"), m.wholes("dims", -1), m.messages("step")[0].text("model_name"), m.place("step")
    ('ab', (3, -1), 'x', 'config.pbtxt:2')
    """
    try:
        reader = _Reader(text_format.Tokenizer(text.split("\n")), file)
        return Message(file, 1, tuple(reader.fields("", 0)))
    except text_format.ParseError as error:
        why = one_line(re.sub(r"^[\d: ]*'.*?'?: (?=\w|')", "", str(error)))[:160]
        line = error.GetLine() or 1
        raise DeploymentError(f"{file}:{line}: no protobuf text: {why.rstrip('.')}; mend it.") from None


class _Reader:
    def __init__(self, tokens: Any, file: str) -> None:
        self._tokens, self._file, self._count = tokens, file, 0

    def _line(self) -> int:
        return int(self._tokens.ParseError("").GetLine() or 1)

    def fields(self, end: str, depth: int) -> Iterator[Field]:
        """Yield fields until the token that ends the message."""
        tokens = self._tokens
        if depth > MOST_DEPTH:
            raise tokens.ParseError(f"nested deeper than {MOST_DEPTH} levels")
        while not (tokens.AtEnd() if not end else tokens.TryConsume(end)):
            if tokens.AtEnd():
                raise tokens.ParseError(f"'{end}' is missing")
            line, name = self._line(), self._name()
            colon = tokens.TryConsume(":")
            if tokens.TryConsume("["):
                while not tokens.TryConsume("]"):
                    yield self._field(name, self._line(), depth)
                    if not tokens.TryConsume(","):
                        tokens.Consume("]")
                        break
            elif colon or tokens.LookingAt("{") or tokens.LookingAt("<"):
                yield self._field(name, line, depth)
            else:
                raise tokens.ParseError("':' is missing")
            if not tokens.TryConsume(","):
                tokens.TryConsume(";")

    def _name(self) -> str:
        """Read the name of a field; an extension's, or that of a type, stands in brackets."""
        if not self._tokens.TryConsume("["):
            return str(self._tokens.ConsumeIdentifier())
        name = ""
        while not self._tokens.TryConsume("]"):
            if self._tokens.AtEnd() or len(name) > 500:
                raise self._tokens.ParseError("']' is missing")
            name += self._tokens.token
            self._tokens.NextToken()
        return f"[{name}]"

    def _field(self, name: str, line: int, depth: int) -> Field:
        tokens = self._tokens
        self._count += 1
        if self._count > MOST_FIELDS:
            raise tokens.ParseError(f"more than {MOST_FIELDS:,} fields")
        for begin, end in (("{", "}"), ("<", ">")):
            if tokens.TryConsume(begin):
                return Field(name, Message(self._file, line, tuple(self.fields(end, depth + 1))), line)
        if tokens.token[:1] in ("'", '"'):
            return Field(name, str(tokens.ConsumeString()), line)
        text = tokens.token
        if not text or not (text[0].isalnum() or text[0] in "-+._"):
            raise tokens.ParseError(f"a value is missing before {text!r}" if text else "a value is missing")
        tokens.NextToken()
        if text == "-":  # before a name: -inf
            text += tokens.token
            tokens.NextToken()
        return Field(name, text, line)
