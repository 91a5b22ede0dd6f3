"""Which systems the compiled loop can simulate, and which runs it does."""

from __future__ import annotations

from nona.scenario.late import LATE
from nona.scenario.serverless import ContainersSpec, DispatchSpec, SharingSpec, TransferSpec
from nona.serverless.engine.compiled import layout
from nona.serverless.engine.compiled.machine import is_ready
from nona.serverless.engine.options import COMPILED, PLAIN, RunOptions
from nona.serverless.model.system import ServerlessSystem

#: What the loop knows; a part of a system that has more must have it as it is by default.
_KNOWN = {
    SharingSpec: frozenset(SharingSpec.model_fields),
    TransferSpec: frozenset({"local_latency", "local_bandwidth", "remote_latency", "remote_bandwidth"}),
    ContainersSpec: frozenset({"warm", "prewarm", "spare", "ewma_weight", "keep_alive"}),
    DispatchSpec: frozenset(
        {"first", "later", "rechecks", "blocking", "partial", "order", "late", "ready_first"}
    ),
}


def is_compiled(system: ServerlessSystem, run: RunOptions) -> bool:
    """Whether the compiled engine answers."""
    if run.engine == PLAIN or not suits(system):
        return False
    return run.engine == COMPILED or is_ready()


def suits(system: ServerlessSystem) -> bool:
    """Whether the loop can simulate a system.

    vGPUs are counted, late calls are kept, transfers take their time alone, containers cost nothing while
    they wait and take no memory, numbers fit.
    """
    parts = (system.sharing, system.transfer, system.containers, system.dispatch)
    return (
        system.sharing.mode == "mig-counter"
        and system.network is None
        and system.memory is None
        and not system.idle_cost
        and not LATE.find(system.dispatch.late).drops
        and all(_is_known(part) for part in parts)
        and max(len(system.applications), len(system.invokers)) < layout.MOST_APPLICATIONS
        and max(len(system.functions), *(a.stages for a in system.applications)) < layout.MOST_STAGES
        and all(node.vgpus <= layout.MOST_SLOTS for node in system.invokers)
    )


def _is_known(part: SharingSpec | TransferSpec | ContainersSpec | DispatchSpec) -> bool:
    default = type(part)()
    others = type(part).model_fields.keys() - _KNOWN[type(part)]
    return all(getattr(part, name) == getattr(default, name) for name in others)
