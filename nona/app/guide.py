"""The guide in sections, and the glossary of terms that pages underline."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from nona import __version__
from nona.core.text import query_words
from nona.queries.schedulers.base import FAMILY_TITLES
from nona.queries.schedulers.registry import SCHEDULERS

TERMS: Mapping[str, str] = MappingProxyType(
    {
        "operator": "a node of the model's graph, as in the file",
        "task": "operators that always run together; a node of the contracted graph",
        "query": "one inference request with all its tasks; the simulator calls it a job",
        "executor": "runs one task, or one batch, at a time: a whole GPU, a MIG slice, or an MPS client",
        "batching": "an executor runs the equal tasks of several queries as one; b of them take s(b)",
        "link": "carries messages between servers; with network cards and racks, the core in the middle",
        "JCT": "job completion time: the response time, from arrival to completion, in seconds",
        "SLO": "the time within which a query should complete, seconds",
        "SLO hit": "a JCT of at most the SLO; the rate counts every query of the measured window",
        "utilisation": "busy time divided by total time: how long an executor or link is occupied",
        "load": "work divided by capacity (of executors that batch: in full batches)",
        "local": "the whole query on one server",
        "spread": "every task of an interior on its own server",
        "cut task": "a task on every path through the query (a dominator)",
        "sub-graph": "the part between two consecutive cut tasks: root, interior, sink",
        "configuration": "which tasks of an interior share a server, and which stay with root or sink",
        "parallelism": "total compute divided by the longest chain: the largest gain from splitting",
        "contraction": "merging operators that cannot gain from separate servers",
        "lead": "how much slower the second best of the compared placements is",
        "gap": "how far the optimum of the formula may be above its certified lower bound",
        "network view": "what a scheduler may know of the link, from N0 (nothing) to N4 (its live queue)",
        "overloaded": "more work arrives than can be done: queues grow without bound, no mean exists",
        "replication": "an independent run; intervals come from several",
        "interval": "the range that covers the true mean with probability 95 %",
        "headroom": "the largest multiple of today's traffic at which all targets were shown to hold",
        "error budget": "the share of late jobs that a target allows: 1 % where 99 % must be in time",
        "baseline": "the pinned run that later runs are compared with",
        "version": "twelve digits, equal for equal scenarios; a result carries its scenario's version",
        "warm-up": "the start of a run, left out of the figures",
        "SCV": "variance divided by the squared mean: 0 constant, 1 exponential",
        "provenance": "where a time comes from: measured, calibrated, given or modelled",
        "MIG": "slices of one GPU, each with its own memory and compute",
        "MPS": "several processes on one GPU at the same time",
        "vGPU": "the unit of GPU that a function gets: a seventh of an A100",
        "cold start": "the time until a new container of a function is ready",
        "allocation": "X: the share of time that each job has on each type of GPU, from the policy",
        "round": "the time for which a training job keeps its GPUs, usually 6 minutes",
        "finish-time fairness": "ρ = JCT over the JCT on an equal share of the cluster; above 1: slower",
        "elastic job": "a training job whose GPUs (under some policies also batch size) change while it runs",
        "goodput": "for language models: the share of all arrived requests that met every target; for "
        "elastic training jobs: samples per second times statistical efficiency (Pollux)",
        "engine": "serves a language model token by token: in each step every running request gets a token",
        "router": "chooses the engine of each request at its arrival",
        "TTFT": "time to the first token: from the arrival of a request to its first token",
        "TPOT": "time per output token: the mean time of a request's further tokens",
        "KV cache": "keys and values of the tokens so far, in blocks of an engine's memory",
        "statistical efficiency": "progress of a sample over that of one at the smallest batch size",
        "gradient noise": "how much the gradients of batches differ; if much, larger batches gain more",
        "interference": "speed that a job on several nodes loses if it shares a node with another such job",
        "makespan": "from the start to the completion of the last job",
    }
)


def _glossary_text() -> str:
    """Return the whole glossary as a Markdown list.

    >>> _glossary_text().splitlines()[1]
    '* **baseline**: the pinned run that later runs are compared with'
    """
    names = sorted(TERMS, key=str.casefold)
    return "\n".join(f"* **{name}**: {TERMS[name]}" for name in names)


def matching_terms(query: str) -> tuple[str, ...]:
    """Terms whose name or meaning contains every word of ``query``, ignoring case; none for an empty one.

    >>> matching_terms("squared mean")
    ('SCV',)
    """
    words = query_words(query)
    return tuple(n for n, m in TERMS.items() if words and all(w in f"{n} {m}".casefold() for w in words))


_BLANK = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class Section:
    """A section: its name in links, its title, its text as Markdown."""

    name: str
    title: str
    text: str


@cache
def sections() -> tuple[Section, ...]:
    """All sections in order.

    >>> [s.name for s in sections()][:3]
    ['start', 'words', 'contraction']
    """
    return tuple(replace(s, text=_BLANK.sub(_filled, s.text).strip()) for s in _with_blanks())


@cache
def _with_blanks() -> tuple[Section, ...]:
    """Return the sections without what is computed, which takes seconds."""
    folder = files("nona.app").joinpath("guide_text")
    in_order = []
    for file in sorted((f for f in folder.iterdir() if f.name.endswith(".md")), key=lambda f: f.name):
        title, _, text = file.read_text("utf-8").partition("\n")
        name = file.name.removesuffix(".md").partition("-")[2]
        in_order.append(Section(name, title.removeprefix("# "), text))
    return tuple(in_order)


def section_titles() -> Mapping[str, str]:
    """Name of each section → its title."""
    return MappingProxyType({s.name: s.title for s in _with_blanks()})


def matching(query: str, among: Sequence[Section] | None = None) -> tuple[Section, ...]:
    """Return the sections that contain every word of ``query``, ignoring case; all for an empty query.

    Those whose title holds a word come first.

    >>> [s.name for s in matching("stranded slice")]
    ['mig']
    """
    words = query_words(query)
    matches = [
        s
        for s in (sections() if among is None else among)
        if all(w in s.title.casefold() or w in s.text.casefold() for w in words)
    ]
    return tuple(sorted(matches, key=lambda s: not any(w in s.title.casefold() for w in words)))


def _filled(match: re.Match[str]) -> str:
    return _COMPUTED[match.group(1)]()


def _schedulers() -> str:
    parts = []
    for family, title in FAMILY_TITLES.items():
        of_family = [s for s in SCHEDULERS.values() if s.family == family]
        lines = [f"* **{s.name}** ({s.network_view.name}): {s.summary}" for s in of_family]
        parts += ["\n".join([f"### {title}", "", *lines])] if lines else []
    return "\n\n".join(parts)


def _citation() -> str:
    return (
        "```bibtex\n@software{nona_planner,\n  title   = {Nona Planner},\n"
        "  author  = {{Nona Planner contributors}},\n"
        f"  version = {{{__version__}}},\n  license = {{MIT}}\n}}\n```"
    )


_COMPUTED: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "schedulers": _schedulers,
        "glossary": _glossary_text,
        "citation": _citation,
    }
)
