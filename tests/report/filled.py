"""Results made by hand: a field that is not given has the plainest value of its type."""

import types
import typing
from typing import Annotated, Literal, TypeVar, Union

from nona.results.document import Document

Made = TypeVar("Made", bound=Document)


def filled(kind, /, **given):
    """A result of that kind: 0, no text, nothing in it, unknown, the first of the words that are allowed."""
    fields = {n: f.annotation for n, f in kind.model_fields.items() if n not in given and f.is_required()}
    return kind(**{name: _plainest(of) for name, of in fields.items()}, **given)


def but(result, /, **changes):
    """The same result with these fields changed."""
    return result.model_copy(update=changes)


def _plainest(of):
    origin, arguments = typing.get_origin(of), typing.get_args(of)
    if origin in (Union, types.UnionType):
        return None if type(None) in arguments else _plainest(arguments[0])
    if origin is Annotated or origin is Literal:
        return arguments[0] if origin is Literal else _plainest(arguments[0])
    if origin is tuple and Ellipsis not in arguments:
        return tuple(map(_plainest, arguments))
    if isinstance(of, type) and issubclass(of, Document):
        return filled(of)
    return of() if origin is None else () if origin is tuple else {}
