"""What a scenario is about in a line: its servers and GPUs, its models and their rate."""

from __future__ import annotations

from nona.report.text import counted
from nona.report.training.words import jobs_text
from nona.scenario.schema import Scenario


def scenario_line(scenario: Scenario) -> str:
    """Servers and workload, as a list of scenarios tells them apart.

    >>> from nona.scenario.file import parse_scenario
    >>> text = "{cluster: {servers: [{count: 2, gpu: l4}]}, workload: [{model: gpt2, rate: 5/s}]}"
    >>> scenario_line(parse_scenario(text))
    '2 servers, l4; gpt2, 5/s'
    """
    return f"{cluster_text(scenario)}; {workload_text(scenario)}"


def cluster_text(scenario: Scenario) -> str:
    """How many servers there are, and their GPUs; of several groups the first, and how many others."""
    first, *others = scenario.cluster.servers
    servers = counted(sum(group.count for group in scenario.cluster.servers), "server")
    each = f"{first.gpus} × " if first.gpus > 1 else ""
    kinds = f" and {counted(len(others), 'other kind')}" if others else ""
    return f"{servers}, {each}{first.gpu}{kinds}"


def workload_text(scenario: Scenario) -> str:
    """The models and the rate of all queries together; of a scenario without queries its training jobs.

    >>> from nona.scenario.file import parse_scenario
    >>> text = "{version: 1, cluster: {servers: [{count: 2}]}, training: {generate: {jobs: 9}}}"
    >>> workload_text(parse_scenario(text))
    '9 training jobs'
    """
    if not scenario.workload:
        return "no queries" if scenario.training is None else jobs_text(scenario.training)
    names, rate = scenario.labels, sum(row.rate for row in scenario.workload)
    shown = f"{rate:,.0f}" if rate >= 1000 else f"{rate:.4g}"
    return f"{names[0] if len(names) == 1 else f'{len(names)} models'}, {shown}/s"
