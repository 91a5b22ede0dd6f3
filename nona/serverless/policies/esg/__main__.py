"""Compile the searches, once: ``python -m nona.serverless.policies.esg``."""

from __future__ import annotations

import sys
import time

from nona.serverless.policies.esg.search import compile_searches

begin = time.perf_counter()
compile_searches()
print(f"ESG's searches are ready ({time.perf_counter() - begin:.1f} s).", file=sys.stderr)
