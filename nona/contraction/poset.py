"""The poset rule: ancestors and descendants in place of neighbours. It is complete."""

from __future__ import annotations

from nona.contraction.direct import apply_direct
from nona.contraction.merging import Merging
from nona.contraction.rule import Rule
from nona.graph.reduction import transitive_reduction

NAME = "poset"


def apply_poset(merging: Merging) -> None:
    """Contract a → b iff Anc(b)∖{a} ⊆ Anc(a) and Desc(a)∖{b} ⊆ Desc(b), as long as there is one.

    Equivalent: in the transitive reduction a has one successor, b, and b one predecessor, a; so
    the result is the path compression of the transitive reduction. Complete: where the rule does
    not hold, say for x ∈ Anc(b) that is not comparable to a, the times p(x) = p(a) = 1 and 0 for
    the rest give a critical path of 1, and of 2 after merging a and b.

    The direct rule implies this one, so it goes first: it is linear, and what it leaves is small.
    """
    apply_direct(merging)
    quotient = merging.quotient
    heads, dag = quotient.dag()
    hasse = transitive_reduction(dag)
    chain = [
        (quotient.tail[heads[i]], heads[successors[0]])
        for i, successors in enumerate(hasse.successors)
        if len(successors) == 1 and len(hasse.predecessors[successors[0]]) == 1
    ]
    for u, v in sorted(chain, key=lambda edge: (merging.priority[edge[0]], edge[0])):
        merging.merge(u, v, NAME, poset_reason(merging, u, v))


def poset_reason(merging: Merging, u: int, v: int) -> str:
    """The condition with the neighbours that it was checked on."""
    a, b = merging.ends(u, v)
    inputs, consumers = merging.other_inputs(u, v), merging.other_consumers(u, v)
    before = f"what else {b} reads ({inputs}) comes before {a} anyway"
    behind = f"what else {a} feeds ({consumers}) comes after {b} anyway"
    if not inputs:
        before = f"{b} reads from {a} only"
    if not consumers:
        behind = f"{a} feeds {b} only"
    return f"{before}; {behind}."


POSET = Rule(
    name=NAME,
    condition=(
        "a → b is contracted when everything else that b depends on comes before a, and everything else "
        "that depends on a comes after b."
    ),
    source="Own extension of the direct rule: path compression of the transitive reduction",
    apply=apply_poset,
)
