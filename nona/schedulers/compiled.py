"""Compile a decision function for engines that run as machine code."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any


def compile_decision(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function`` compiled by Numba, along with the plain functions that it calls.

    Decision functions and their helpers stay plain Python, so that nothing is compiled, and Numba
    is not even imported, until an engine asks for it.

    Raises
    ------
    TypeError
        When ``function`` is not a plain Python function.
    """
    import numba  # it takes most of a second to import

    if not isinstance(function, FunctionType):
        raise TypeError(f"{function!r} must be a plain Python function; write it with def.")
    scope = dict(function.__globals__)
    for name in function.__code__.co_names:
        helper = scope.get(name)
        if isinstance(helper, FunctionType) and helper is not function:
            scope[name] = compile_decision(helper)
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
    compiled: Callable[..., Any] = numba.njit(copy)
    return compiled
