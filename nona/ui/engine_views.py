"""Sentences about the engine that answered."""

from __future__ import annotations

from collections.abc import Sequence

from nona.ui.engines import COMPILED, SIMPY

_SENTENCES = {
    COMPILED: "The compiled engine answered.",
    SIMPY: "The SimPy engine answered: the compiled one is still being prepared, or cannot run here.",
}


def engine_text(engine: str, plain_policies: Sequence[str] = ()) -> str:
    """Which engine answered, by the names in a report, and which policies it could not compile.

    >>> engine_text("compiled")
    'The compiled engine answered.'
    >>> engine_text("compiled", ["mine"])
    'The compiled engine answered; mine cannot be compiled and decided in plain Python, more slowly.'
    >>> engine_text("compiled, simpy")
    'The engines compiled, simpy answered, with equal results for equal runs.'
    """
    if engine not in _SENTENCES:
        return f"The engines {engine} answered, with equal results for equal runs."
    if engine == COMPILED and plain_policies:
        names = ", ".join(plain_policies)
        return (
            f"The compiled engine answered; {names} cannot be compiled and decided in plain Python, "
            "more slowly."
        )
    return _SENTENCES[engine]
