"""Small systems for the tests of sharing and dispatch."""

from __future__ import annotations

from collections.abc import Sequence

from nona.gpu_sharing.resources import Invoker
from nona.graph.dag import Dag
from nona.serverless.model.application import Application
from nona.serverless.model.configuration import ConfigurationSpace
from nona.serverless.model.function import Function
from nona.serverless.model.system import ServerlessSystem


def one_function(functions: Sequence[Function], space: ConfigurationSpace) -> ServerlessSystem:
    """One invoker, and one application of one stage that runs the first function."""
    application = Application("a", ("s",), (0,), Dag.from_edges(1, []), (0.0,), 1.0, 1.0)
    return ServerlessSystem(space, tuple(functions), (application,), (Invoker(),))
