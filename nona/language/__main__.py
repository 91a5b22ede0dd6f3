"""Compile the loop of language engines, once: ``python -m nona.language``."""

from __future__ import annotations

import sys
import time

import numpy as np

from nona.language.draws import draw_requests
from nona.language.records import Window
from nona.language.run import simulate_once
from nona.language.system import Engine, LanguageSystem, Lengths, RequestClass, StepTimes

begin = time.perf_counter()
row = RequestClass("chat", "llm", 1.0, Lengths(np.array([[1, 1]])))
system = LanguageSystem((Engine("gpu", "llm", StepTimes(1e-3), 10),), (row,))
simulate_once(system, draw_requests(system, 2, 0), "round-robin", Window(1))
print(f"The language engines are ready ({time.perf_counter() - begin:.1f} s).", file=sys.stderr)
