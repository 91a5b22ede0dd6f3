"""A scheduler of your own: declare it, register it, simulate it beside nona."""

from typing import Any, NamedTuple

import numpy as np

import nona

SCENARIO = """
version: 1
cluster: {servers: [{count: 8, gpu: a100-40gb}]}
workload: [{model: resnet50, rate: 6000/s}]
simulation: {jobs: 4000, replications: 3}
schedulers: [nona, shortest-queue]
"""


class Tables(NamedTuple):
    tasks: np.ndarray  # how many each query class has


def decide(now: float, query: int, view: Any, tables: Tables, uniforms: Any, out: Any) -> None:
    """Put all tasks of a query on the executor with the fewest tasks; draw among equals."""
    equal = np.flatnonzero(view.queue_length == view.queue_length.min())
    out[: tables.tasks[query]] = equal[int(uniforms[0] * len(equal))]


def build(system: Any, placement: Any, options: Any) -> nona.SchedulerTables:
    """Return the tables of a system; a query needs one random number."""
    return nona.SchedulerTables(Tables(np.array([len(q.tasks) for q in system.queries])), uniforms_per_job=1)


SHORTEST_QUEUE = nona.Scheduler(
    name="shortest-queue",
    kind="bind",
    network_view=nona.NetworkView.N0,
    summary="Runs a whole query on the executor with the fewest tasks.",
    source="This example",
    adaptation="",
    decide=decide,
    build=build,
    reads_queues=True,
    style=nona.ChartStyle("#d0388a", "dash", "star-square"),
)


def main() -> nona.SimulationResult:
    """Simulate both schedulers on the same queries and print their mean completion times."""
    with nona.SCHEDULERS.registered(SHORTEST_QUEUE):
        result = nona.simulate(nona.prepare(nona.parse_scenario(SCENARIO)))
    for name, summary in result.summaries.items():
        print(f"{name:>15}: {1e3 * summary.result.jct_s.mean:.2f} ms")
    return result


if __name__ == "__main__":
    main()
