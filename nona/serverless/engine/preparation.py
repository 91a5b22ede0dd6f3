"""Make the machine code of the loop: once, before anybody waits for it."""

from __future__ import annotations

from nona.gpu_sharing.pool import Invoker
from nona.graph.dag import Dag
from nona.serverless.engine.loop import is_ready
from nona.serverless.engine.options import RunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.functions import CpuLaw, Function, GpuLaw, LawTimes, grid
from nona.serverless.policies.registry import get_policy
from nona.serverless.system import Application, ServerlessSystem
from nona.simulation.compiled.preparation import run_in_background
from nona.system import Arrivals


def prepare_in_background() -> None:
    """Let a process of its own compile the loop, unless one is at it or it is ready."""
    if not is_ready():
        run_in_background(f"{__name__}:make_ready", "serverless-preparing")


def make_ready() -> None:
    """Compile the loop where need be."""
    if not is_ready():
        stage = Function("function", LawTimes(GpuLaw(1.0), CpuLaw(0.0)))
        dag = Dag.from_edges(1, ())
        application = Application("app", ("stage",), (0,), dag, (0.0,), 1.0, 1.0, Arrivals())
        system = ServerlessSystem(grid([1], [1], [1]), (stage,), (application,), (Invoker(),))
        simulate_serverless(system, get_policy("fixed"), {}, RunOptions(calls=1, warmup=0))
