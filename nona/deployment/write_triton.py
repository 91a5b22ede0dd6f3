"""Fragments of Triton's model configurations: batching and instances, to be merged into what is there."""

from __future__ import annotations

from collections.abc import Iterator

from nona.deployment.writing import Standing, names_of
from nona.models.cost.options import PER_QUERY
from nona.scenario.cluster import ServerGroupSpec
from nona.scenario.rows import BatchingSpec, StageSpec
from nona.scenario.schema import Scenario, WorkloadRow

MICRO = 1e6


def triton_files(standing: Standing) -> dict[str, str]:
    """Return a fragment for each model: a task with instances of its own, or a row."""
    scenario = standing.scenario
    files = {}
    names = names_of(scenario.labels)
    for row, name in zip(scenario.workload, names, strict=True):
        for model, lines in _models(scenario, row, name):
            text = "\n".join([*lines, ""])
            files[f"{model}/fragment.pbtxt"] = f"{standing.comment}# Merge into {model}/config.pbtxt\n{text}"
    return files


def _models(scenario: Scenario, row: WorkloadRow, name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield a name and the lines of each model of a row."""
    shared = scenario.batching_of(row)
    stages = row.stages
    for task, stage in stages.items():
        batching = stage.batching if stage.batching is not None else shared
        if stage.cpu is not None:
            group = f"instance_group [ {{ count: {stage.cpu} kind: KIND_CPU }} ]"
        else:
            group = f"instance_group [ {_gpu_instances(stage)} ]"
        model = names_of([task.rpartition("/")[2]])[0]
        yield model, [f'name: "{model}"', *batching_lines(batching, row.batch), group]
    if not stages:
        count = max((_tasks(g) for g in scenario.cluster.servers if g.engine is None), default=1)
        group = f"instance_group [ {{ count: {count} kind: KIND_GPU }} ]"
        yield name, [f'name: "{name}"', *batching_lines(shared, row.batch), group]


def _gpu_instances(stage: StageSpec) -> str:
    """Return the instances of a stage; groups of servers that differ follow one another.

    >>> _gpu_instances(StageSpec(instances=({"count": 2, "gpus": [0]}, {"gpus": [1]})))
    '{ count: 2 kind: KIND_GPU gpus: [ 0 ] }, { count: 1 kind: KIND_GPU gpus: [ 1 ] }'
    """
    if not stage.instances:
        return "{ count: 1 kind: KIND_GPU }"
    if not any(places.gpus for places in stage.instances):
        return f"{{ count: {max(places.count for places in stage.instances)} kind: KIND_GPU }}"
    ons = [
        (p, f" gpus: [ {', '.join(map(str, sorted(p.gpus)))} ]" if p.gpus else "") for p in stage.instances
    ]
    return ", ".join(dict.fromkeys(f"{{ count: {p.count} kind: KIND_GPU{on} }}" for p, on in ons))


def _tasks(group: ServerGroupSpec) -> int:
    """Return the tasks that run at once on a GPU of a group."""
    instances = group.instances
    return group.mps or (instances.most if instances else 1)


def batching_lines(batching: BatchingSpec | None, inputs: int = 1) -> list[str]:
    """Return the fields of a batcher; what Triton has no field for is a comment.

    >>> batching_lines(BatchingSpec(max_batch=8, delay=0.002))
    ['max_batch_size: 8', 'dynamic_batching { max_queue_delay_microseconds: 2000 }']
    """
    if batching is None or batching.max_batch < 2:
        return [f"max_batch_size: {inputs if inputs > 1 else 0}"]
    lines = [f"max_batch_size: {batching.max_batch * inputs}"]
    if inputs > 1:
        lines.append(f"# {batching.max_batch} queries of {inputs} inputs each")
    inner = ""
    if batching.starts == "triton" and batching.preferred:
        inner += f" preferred_batch_size: [ {', '.join(str(b * inputs) for b in batching.preferred)} ]"
    if batching.delay > 0 and batching.starts in ("delay", "triton"):
        inner += f" max_queue_delay_microseconds: {round(batching.delay * MICRO)}"
    lines.append(f"dynamic_batching {{{inner} }}")
    if batching.starts == "static":
        lines.append("# the scenario starts full batches only, which Triton's dynamic batcher does not")
    if batching.allowed or batching.per_query != PER_QUERY:
        lines.append("# allowed sizes and the growth of times belong to the engine that is built")
    return lines
