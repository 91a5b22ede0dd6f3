"""Compile the loop, once: ``python -m nona.serverless.engine.compiled``."""

from __future__ import annotations

import sys
import time

from nona.gpu_sharing.pool import Invoker
from nona.graph.dag import Dag
from nona.serverless.engine.compiled.arrays import make_state
from nona.serverless.engine.compiled.machine import loop_for
from nona.serverless.engine.invokers import Tables
from nona.serverless.engine.options import RunOptions
from nona.serverless.functions import CpuLaw, Function, GpuLaw, LawTimes, grid
from nona.serverless.system import Application, ServerlessSystem
from nona.system import Arrivals

begin = time.perf_counter()
function = Function("function", LawTimes(GpuLaw(1.0), CpuLaw(0.0)))
application = Application(
    "application", ("stage",), (0,), Dag.from_edges(1, ()), (0.0,), 1.0, 1.0, Arrivals()
)
system = ServerlessSystem(grid([1], [1], [1]), (function,), (application,), (Invoker(),))
loop_for(make_state(Tables(system), RunOptions(calls=1, warmup=0), by_length=False))
print(f"The serverless engine is ready ({time.perf_counter() - begin:.1f} s).", file=sys.stderr)
