"""Compile the loop, once: ``python -m nona.serverless.engine``."""

from __future__ import annotations

import sys
import time

from nona.serverless.engine.preparation import make_ready

begin = time.perf_counter()
make_ready()
print(f"The serverless engine is ready ({time.perf_counter() - begin:.1f} s).", file=sys.stderr)
