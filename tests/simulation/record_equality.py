"""When two runs are the same run: all that they recorded, bit for bit."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np


def same(a: Any, b: Any) -> None:
    """Fail unless two records agree in every field but the seconds that they took."""
    for f in fields(a):
        if f.name == "seconds":
            continue
        x, y = getattr(a, f.name), getattr(b, f.name)
        if isinstance(x, np.ndarray):
            assert x.tobytes() == y.tobytes(), f.name
        elif f.name != "tally":
            assert x == y, f.name
    assert a.digest() == b.digest()
