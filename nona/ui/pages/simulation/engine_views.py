"""Sentences about the engine that ran the simulation."""

from __future__ import annotations

from collections.abc import Sequence

_SENTENCES = {
    "compiled": "The compiled engine answered.",
    "simpy": "The SimPy engine answered: the compiled one is still being prepared, or cannot run here.",
}


def engine_text(engine: str, in_python: Sequence[str] = ()) -> str:
    """Which engine answered, and which policies it could not compile.

    >>> engine_text("compiled")
    'The compiled engine answered.'
    >>> engine_text("compiled", ["mine"])
    'The compiled engine answered; mine cannot be compiled and decided in plain Python, more slowly.'
    >>> engine_text("compiled, simpy")
    'The engines compiled, simpy answered, with equal results for equal runs.'
    """
    if engine not in _SENTENCES:
        return f"The engines {engine} answered, with equal results for equal runs."
    if in_python:
        names = ", ".join(in_python)
        return (
            f"The compiled engine answered; {names} cannot be compiled and decided in plain Python, "
            "more slowly."
        )
    return _SENTENCES[engine]
