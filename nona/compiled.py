"""Functions as machine code, kept on disk. Importing this imports numba, which takes a while: do it late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from nona.code_cache.checked import kept_on_disk

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """``function`` compiled at its first call; ``.py_func`` of the result is the plain one."""
    return cast(F, kept_on_disk(function))
