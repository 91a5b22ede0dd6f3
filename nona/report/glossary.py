"""The glossary: every term that pages underline, with its meaning in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

TERMS: Mapping[str, str] = MappingProxyType(
    {
        "operator": "a node of the model's graph, as in the file",
        "task": "operators that always run together; a node of the contracted graph",
        "query": "one inference request with all its tasks; the simulator calls it a job",
        "executor": "runs one task at a time: a whole GPU, a MIG slice, or an MPS client",
        "link": "what messages between servers cross; with cards and racks, the core in the middle",
        "JCT": "job completion time: completion minus arrival, seconds",
        "SLO": "the time within which a query should complete, seconds",
        "SLO hit": "a JCT of at most the SLO; the rate counts every query of the measured window",
        "utilisation": "busy time divided by total time",
        "local": "the whole query on one server",
        "spread": "every task of an interior on its own server",
        "cut task": "a task on every path through the query (a dominator)",
        "sub-graph": "the part between two consecutive cut tasks: root, interior, sink",
        "configuration": "which tasks of an interior share a server, and which stay with root or sink",
        "parallelism": "total compute divided by the longest chain: the most that splitting can gain",
        "contraction": "merging operators that cannot gain from being apart",
        "response": "the JCT predicted by sampled jobs, with random waits; the formula has mean waits",
        "gap": "(objective − lower bound) / objective: how much better a placement could be at most",
        "network view": "what a scheduler may know of the link, from N0 (nothing) to N4 (its live queue)",
        "overloaded": "more work arrives than can be done: queues grow, no mean exists",
        "replication": "an independent run; intervals come from several",
        "interval": "the range that covers the true mean with probability 95 %",
        "headroom": "the largest factor on the traffic at which all targets were seen to hold",
        "error budget": "the share of late jobs that a target allows: 1 % where 99 % must be in time",
        "baseline": "the pinned run that later runs are compared with",
        "fingerprint": "twelve digits of a scenario: equal for equal scenarios, and its results carry it too",
        "warm-up": "the start of a run, left out of the figures",
        "SCV": "variance divided by the squared mean: 0 constant, 1 exponential",
        "provenance": "where a time comes from: measured, calibrated, given or modelled",
        "MIG": "slices of one GPU with memory and compute of their own",
        "MPS": "several processes on one GPU at the same time",
        "vGPU": "the unit of GPU that a function gets: a seventh of an A100",
        "cold start": "the time until a new container of a function is ready",
        "allocation": "X: the share of time that each job has on each type of GPU, from the policy",
        "round": "the time for which a training job keeps its GPUs, usually 6 minutes",
        "finish-time fairness": "ρ = JCT over the JCT on an equal share of the cluster; above 1: slower",
        "elastic job": "a training job whose GPUs, and under some policies batch size, change while it runs",
        "goodput": "progress per second: samples per second times statistical efficiency (Pollux)",
        "statistical efficiency": "progress of a sample over that of one at the smallest batch size",
        "gradient noise": "how much gradients of batches differ; the more, the larger a batch is useful",
        "interference": "speed that a job on several nodes loses where it shares one with another such job",
        "makespan": "from the start to the completion of the last job",
    }
)


def glossary_text() -> str:
    """The whole glossary as a Markdown list.

    >>> glossary_text().splitlines()[1]
    '* **baseline**: the pinned run that later runs are compared with'
    """
    names = sorted(TERMS, key=str.casefold)
    return "\n".join(f"* **{name}**: {TERMS[name]}" for name in names)


def matching_terms(query: str) -> tuple[str, ...]:
    """Terms whose name or meaning contains every word of ``query``, ignoring case; none for an empty one.

    >>> matching_terms("squared mean")
    ('SCV',)
    """
    words = query.casefold().split()
    return tuple(n for n, m in TERMS.items() if words and all(w in f"{n} {m}".casefold() for w in words))
