"""Sentences about the engine that answered."""

from __future__ import annotations

from nona.ui.engines import COMPILED, SIMPY

_SENTENCES = {
    COMPILED: "The compiled engine answered.",
    SIMPY: "The SimPy engine answered: the compiled one is still being prepared, or cannot run here.",
}


def engine_text(engine: str) -> str:
    """Which engine answered, by the names in a report.

    >>> engine_text("compiled")
    'The compiled engine answered.'
    >>> engine_text("compiled, simpy")
    'The engines compiled, simpy answered, with equal results for equal runs.'
    """
    if engine in _SENTENCES:
        return _SENTENCES[engine]
    return f"The engines {engine} answered, with equal results for equal runs."
