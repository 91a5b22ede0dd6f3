"""Symbolic dimensions (batch, sequence): which ones a model has, and the numbers given for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nona.errors import GraphError
from nona.graph.text import quote

MAX_DIMENSION = 10**9


class MissingDimensions(GraphError):  # noqa: N818 (it is a question)
    """The model has symbolic dimensions without a number; ``names`` says which.

    >>> str(MissingDimensions.of("m", ["batch"]))
    "Model 'm': dimension 'batch' is symbolic; give a whole number for it, for example batch=1."
    """

    def __init__(self, message: str, names: Sequence[str] = ()) -> None:
        self.names = tuple(names)
        super().__init__(message)

    @classmethod
    def of(cls, model: str, names: Sequence[str]) -> MissingDimensions:
        """The question for ``names`` of ``model``."""
        few = ", ".join(quote(n) for n in names[:8]) + (f" and {len(names) - 8} more" if names[8:] else "")
        example = ", ".join(f"{n}={_guess(n)}" for n in names[:3])
        what, verb, each = (
            ("dimension", "is", "it") if len(names) == 1 else ("dimensions", "are", "each of them")
        )
        return cls(
            f"Model {quote(model)}: {what} {few} {verb} symbolic; give a whole number for {each}, "
            f"for example {example}.",
            names,
        )

    def __reduce__(self) -> tuple[type[MissingDimensions], tuple[str, tuple[str, ...]]]:
        return type(self), (str(self), self.names)


def _guess(name: str) -> int:
    return 128 if any(part in name.lower() for part in ("seq", "len", "token", "past")) else 1


def check_symbols(symbols: Mapping[str, int] | None) -> dict[str, int]:
    """The given numbers, if each is a whole number from 1 to 10⁹.

    Raises
    ------
    GraphError
        For any other value; the message names the dimension.

    >>> check_symbols({"batch": 8})
    {'batch': 8}
    """
    for name, value in (symbols or {}).items():
        if type(value) is not int or not 1 <= value <= MAX_DIMENSION:
            raise GraphError(
                f"Dimension {quote(name)}: {quote(value)} must be a whole number from 1 to "
                f"{MAX_DIMENSION}; give for example {_guess(name)}."
            )
    return dict(symbols or {})
