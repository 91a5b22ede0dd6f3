"""The outcome of a serverless run, for the page and exports."""

from __future__ import annotations

from nona.gpu_sharing.resources import Invoker
from nona.hardware.geometry import board
from nona.report.serverless.layouts import layout_rows
from nona.report.serverless.stories import story_rows
from nona.results.serverless.dispatch import LayoutNode, Layouts, ServerlessOutcome
from nona.scenario.schema import Scenario
from nona.study.outcome import about_scenario
from nona.study.serverless.run import ServerlessResult, report_of


def serverless_outcome(scenario: Scenario, result: ServerlessResult, made: str) -> ServerlessOutcome:
    """All displayed data of a run; ``made`` is the date as text.

    Calls and replications in its provenance are those that were run, which options may have set.
    """
    first = {name: runs[0] for name, runs in result.records.items()}
    system, setting = result.system, result.setting
    about = about_scenario(scenario, scenario, made)
    size = {"jobs": setting.calls, "replications": setting.replications}
    return ServerlessOutcome(
        about=about.model_copy(update=size),
        report=report_of(result),
        layouts=Layouts(
            mode=system.sharing.mode,
            applications=tuple(a.name for a in system.applications),
            nodes=tuple(_node(n) for n in system.invokers),
            rows={name: layout_rows(run, system) for name, run in first.items()},
        ),
        stories={name: story_rows(run, system) for name, run in first.items()},
    )


def _node(node: Invoker) -> LayoutNode:
    memory = board(node.board).memory_slices if node.board else node.vgpus
    return LayoutNode(gpus=node.gpus, vgpus=node.vgpus, board=node.board, memory=memory)
