"""The direct rule: neighbours only. The rule of the Nona slides (Pit-Claudel et al. 2024)."""

from __future__ import annotations

from nona.contraction.merging import Merging
from nona.contraction.rule import Rule
from nona.contraction.worklist import DirectWorklist

NAME = "direct"


def apply_direct(merging: Merging) -> None:
    """Contract a → b iff Pred(b)∖{a} ⊆ Pred(a) and Succ(a)∖{b} ⊆ Succ(b), as long as there is one.

    Nothing is lost: every path that ends in a extends through b, and every path that starts in b
    extends backwards through a, so a path of the merged graph is part of a path that was there
    before, and the critical path stays as it is for all operator times.

    O(n log n + m).
    """
    DirectWorklist(merging, NAME, lambda u, v: direct_reason(merging, u, v)).run()


def direct_reason(merging: Merging, u: int, v: int) -> str:
    """The condition with the neighbours that it was checked on."""
    a, b = merging.ends(u, v)
    inputs, consumers = merging.other_inputs(u, v), merging.other_consumers(u, v)
    reads = f"and otherwise only what {a} reads too ({inputs})" if inputs else "only"
    feeds = f"and otherwise only what {b} feeds too ({consumers})" if consumers else "only"
    return f"{b} reads from {a} {reads}; {a} feeds {b} {feeds}."


DIRECT = Rule(
    name=NAME,
    condition=(
        "a → b is contracted when every other input of b is an input of a, and every other consumer of a "
        "is a consumer of b."
    ),
    source="Nona, slides on graph contraction (Pit-Claudel et al., IEEE CloudNet 2024)",
    apply=apply_direct,
)
