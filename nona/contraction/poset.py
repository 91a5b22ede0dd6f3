"""The poset rule: ancestors and descendants in place of neighbours. It is complete."""

from __future__ import annotations

from nona.contraction.direct import apply_direct
from nona.contraction.merging import Merging
from nona.contraction.rule import Rule
from nona.graph.structure.reduction import transitive_reduction

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
        merging.join(u, v, NAME, _reason(merging, u, v, a_grew, b_grew))


def _reason(merging: Merging, u: int, v: int, a_grew: bool, b_grew: bool) -> str:
    """The condition with the neighbours that it was checked on: those of the ends that meet.

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


POSET = Rule(
    name=NAME,
    condition=(
        "a → b is contracted when everything else that b depends on comes before a, and everything else "
        "that depends on a comes after b."
    ),
    source="Own extension of the direct rule: path compression of the transitive reduction",
    apply=apply_poset,
)
