"""``python -m nona.simulation.compiled``: compile the engine and the shipped policies."""

from __future__ import annotations

import sys
import time

from nona.simulation.compiled.preparation import compile_all

begin = time.perf_counter()
compile_all()
print(f"The compiled engine is ready ({time.perf_counter() - begin:.1f} s).", file=sys.stderr)
