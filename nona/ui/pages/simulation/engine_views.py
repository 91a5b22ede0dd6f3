"""Sentences about the engine that ran the simulation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.report.simulations.report import python_decisions

_SENTENCES = {
    "compiled": "The compiled engine answered.",
    "simpy": "The SimPy engine answered: the compiled one is still being prepared, or cannot run here.",
}


def engine_text(report: Mapping[str, Any]) -> str:
    """Which engine answered, and which policies it could not compile.

    >>> engine_text({"engine": "compiled", "schedulers": {"nona": {"decisions": "machine code"}}})
    'The compiled engine answered.'
    >>> engine_text({"engine": "compiled", "schedulers": {"mine": {"decisions": "python"}}})
    'The compiled engine answered; mine cannot be compiled and decided in plain Python, more slowly.'
    >>> engine_text({"engine": "compiled, simpy", "schedulers": {}})
    'The engines compiled, simpy answered, with equal results for equal runs.'
    """
    engine, plain_policies = report["engine"], python_decisions(report)
    if engine not in _SENTENCES:
        return f"The engines {engine} answered, with equal results for equal runs."
    if plain_policies:
        names = ", ".join(plain_policies)
        return (
            f"The compiled engine answered; {names} cannot be compiled and decided in plain Python, "
            "more slowly."
        )
    return _SENTENCES[engine]
