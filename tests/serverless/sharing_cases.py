"""Small systems for the tests of sharing and dispatch."""

from __future__ import annotations

from collections.abc import Sequence

from nona.gpu_sharing.pool import Invoker
from nona.graph.dag import Dag
from nona.serverless.functions import ConfigurationSpace, Function
from nona.serverless.system import Application, ServerlessSystem


def one_function(functions: Sequence[Function], space: ConfigurationSpace) -> ServerlessSystem:
    """One invoker, and one application of one stage that runs the first function."""
    application = Application("a", ("s",), (0,), Dag.from_edges(1, []), (0.0,), 1.0, 1.0)
    return ServerlessSystem(space, tuple(functions), (application,), (Invoker(),))
