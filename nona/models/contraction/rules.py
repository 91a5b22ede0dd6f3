"""The contraction rules by name: direct, poset, size-aware."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nona.core.errors import GraphError
from nona.core.registry import Registry
from nona.core.units import format_size
from nona.models.contraction.contracted import ContractedGraph
from nona.models.contraction.merging import BorderSizes, DirectWorklist, Merging
from nona.models.graph.dag import transitive_reduction
from nona.models.graph.model import ModelGraph
from nona.models.graph.text import quote


@dataclass(frozen=True, slots=True)
class ContractionRule:
    """A way to contract a model graph.

    ``name``: the name that people type.
    ``condition``: when an edge a → b is contracted, in one sentence.
    ``source``: where the rule comes from.
    ``apply``: merges in the given :class:`Merging` until nothing more may be merged.
    ``confluent``: True if the tasks are the same whatever the order of the merges. Every rule keeps the
        critical path for all task times; that is what makes it a rule here.
    """

    name: str
    condition: str
    source: str
    apply: Callable[[Merging], None]
    confluent: bool = True


DIRECT_NAME = "direct"


def _apply_direct(merging: Merging) -> None:
    """Contract a → b iff Pred(b)∖{a} ⊆ Pred(a) and Succ(a)∖{b} ⊆ Succ(b), as long as there is one.

    Nothing is lost: every path that ends in a extends through b, and every path that starts in b
    extends backwards through a, so a path of the merged graph is part of a path that was there
    before, and the critical path stays as it is for all operator times.

    O(n log n + m).
    """
    DirectWorklist(merging, DIRECT_NAME, lambda u, v: _direct_reason(merging, u, v)).run()


def _direct_reason(merging: Merging, u: int, v: int) -> str:
    """Return the condition with the neighbours that it was checked on."""
    a, b = merging.ends(u, v)
    inputs, consumers = merging.other_inputs(u, v), merging.other_consumers(u, v)
    reads = f"and otherwise only what {a} reads too ({inputs})" if inputs else "only"
    feeds = f"and otherwise only what {b} feeds too ({consumers})" if consumers else "only"
    return f"{b} reads from {a} {reads}; {a} feeds {b} {feeds}."


DIRECT = ContractionRule(
    name=DIRECT_NAME,
    condition=(
        "a → b is contracted when all other inputs of b are inputs of a, and all other consumers of a are "
        "consumers of b."
    ),
    source="Nona, slides on graph contraction (Pit-Claudel et al., IEEE CloudNet 2024)",
    apply=_apply_direct,
)

POSET_NAME = "poset"


def _apply_poset(merging: Merging) -> None:
    """Contract a → b iff Anc(b)∖{a} ⊆ Anc(a) and Desc(a)∖{b} ⊆ Desc(b), as long as there is one.

    Equivalent: in the transitive reduction a has one successor, b, and b one predecessor, a; so
    the result is the path compression of the transitive reduction. Complete: where the rule does
    not hold, say for x ∈ Anc(b) that is not comparable to a, the times p(x) = p(a) = 1 and 0 for
    the rest give a critical path of 1, and of 2 after merging a and b.

    The direct rule implies this one, so it goes first: it is linear, and what it leaves is small.
    """
    _apply_direct(merging)
    quotient = merging.quotient
    heads, dag = quotient.dag()
    tails = [quotient.tail[h] for h in heads]
    hasse = transitive_reduction(dag)
    chain = [
        (i, successors[0])
        for i, successors in enumerate(hasse.successors)
        if len(successors) == 1 and len(hasse.predecessors[successors[0]]) == 1
    ]
    for i, j in sorted(chain, key=lambda link: (merging.priority[tails[link[0]]], link)):
        u, v = tails[i], heads[j]
        a_grew, b_grew = quotient.head[u] != heads[i], quotient.tail[v] != tails[j]
        merging.join(u, v, POSET_NAME, _reason(merging, u, v, a_grew, b_grew))


def _reason(merging: Merging, u: int, v: int, a_grew: bool, b_grew: bool) -> str:
    """Return the condition with the neighbours that it was checked on: those of the ends that meet.

    Where a or b has grown by this rule, the rest of it has more neighbours; for these the steps
    before have shown the same.
    """
    a, b = merging.ends(u, v)
    end, start = f"the end of {a}" if a_grew else a, f"the start of {b}" if b_grew else b
    inputs, consumers = merging.other_inputs(u, v), merging.other_consumers(u, v)
    before = f"{start} reads from {a} only"
    if inputs:
        before = f"what else {start} reads ({inputs}) comes before {a} ends anyway"
    behind = f"{end} feeds {b} only"
    if consumers:
        behind = f"what else {end} feeds ({consumers}) comes after {b} starts anyway"
    return f"{before}; {behind}."


POSET = ContractionRule(
    name=POSET_NAME,
    condition=(
        "a → b is contracted when everything else that b depends on comes before a, and everything else "
        "that depends on a comes after b."
    ),
    source="Own extension of the direct rule: path compression of the transitive reduction",
    apply=_apply_poset,
)

SIZE_AWARE_NAME = "size-aware"


def _apply_size_aware(merging: Merging) -> None:
    """Contract by the direct rule, only if size(a → b) ≥ bytes into a or ≥ bytes out of b.

    Then a placement that parts a from b can move one of them to the other without sending more
    bytes. Sizes are of distinct tensors between tasks (:class:`BorderSizes`).

    The result may depend on the order (a merge adds to the bytes into its task), so edges are
    taken from inputs to outputs: the same graph always gives the same tasks.
    """
    traffic = BorderSizes(merging.graph, merging.quotient)
    head = merging.quotient.head

    def reason(u: int, v: int) -> str | None:
        a = head[u]
        between, into, out = traffic.edge_bytes(a, v), traffic.input_bytes(a), traffic.out_of(v)
        if between < into and between < out:
            return None
        first, second = merging.ends(u, v)
        bound = f"the {format_size(into)} into {first}"
        if between < into:
            bound = f"the {format_size(out)} out of {second}"
        text = _direct_reason(merging, u, v).removesuffix(".")
        return f"{text}; the {format_size(between)} between them are no less than {bound}."

    DirectWorklist(merging, SIZE_AWARE_NAME, reason, lambda u, v: traffic.merge(head[u], v)).run()


SIZE_AWARE = ContractionRule(
    name=SIZE_AWARE_NAME,
    condition=(
        "a → b is contracted when the direct rule allows it and its bytes are at least those into a, or "
        "those out of b."
    ),
    source="Own restriction of the direct rule, which keeps the cheapest cuts",
    apply=_apply_size_aware,
    confluent=False,
)

RULES: Registry[ContractionRule] = Registry("Contraction rule", (DIRECT, POSET, SIZE_AWARE), GraphError)
DEFAULT_RULE = POSET.name


def contract(graph: ModelGraph, rule: str | None = DEFAULT_RULE) -> ContractedGraph:
    """Merge operators that gain nothing from running on different executors.

    Parameters
    ----------
    graph : ModelGraph
        The operators and the tensors between them; sizes matter to ``size-aware`` only.
    rule : str or None, default ``poset``
        A name of :data:`RULES`; ``None`` merges nothing.

    Returns
    -------
    ContractedGraph
        Tasks, edges, the steps in order, and the map from tasks back to operators.

    Raises
    ------
    GraphError
        For an unknown rule.

    Notes
    -----
    Under every rule the result has the critical path of ``graph`` for all operator times, if communication is
    free.

    Examples
    --------
    >>> from nona.models.graph.model import Edge, Operator
    >>> arcs = ["ab", "bc", "bd", "ce", "de", "ef"]
    >>> edges = tuple(Edge(u, v, u + v, 8.0) for u, v in arcs)
    >>> small = contract(ModelGraph("g", tuple(Operator(i) for i in "abcdef"), edges))
    >>> [t.operators for t in small.tasks]
    [('a', 'b'), ('c',), ('d',), ('e', 'f')]
    >>> small.steps[0].reason
    "'b' reads from 'a' only; 'a' feeds 'b' only."
    """
    if rule is None:
        return Merging(graph, None).result("none")
    if rule not in RULES:
        raise GraphError(f"Contraction rule {quote(rule)} is unknown; use one of {', '.join(RULES)}.")
    return contract_by(graph, RULES[rule])


def contract_by(
    graph: ModelGraph, rule: ContractionRule, priority: Sequence[float] | None = None
) -> ContractedGraph:
    """:func:`contract` with a rule object, and a priority that sets the order of the steps.

    ``priority`` has a number for every operator: of the edges that may be contracted, the one
    whose producer has the smallest number goes first.
    """
    merging = Merging(graph, priority)
    rule.apply(merging)
    return merging.result(rule.name)
