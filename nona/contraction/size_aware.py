"""The size-aware rule: the direct rule, but no cut that could save bytes is lost."""

from __future__ import annotations

from nona.contraction.direct import direct_reason
from nona.contraction.merging import Merging
from nona.contraction.rule import Rule
from nona.contraction.traffic import Traffic
from nona.contraction.worklist import DirectWorklist
from nona.units import format_size

NAME = "size-aware"


def apply_size_aware(merging: Merging) -> None:
    """Contract by the direct rule, only if size(a → b) ≥ bytes into a or ≥ bytes out of b.

    Then a placement that parts a from b can move one of them to the other without sending more
    bytes. Sizes are of distinct tensors between tasks (:class:`Traffic`).

    The result may depend on the order (a merge adds to the bytes into its task), so edges are
    taken from inputs to outputs: the same graph always gives the same tasks.
    """
    traffic = Traffic(merging.graph, merging.quotient)
    head = merging.quotient.head

    def reason(u: int, v: int) -> str | None:
        a = head[u]
        between, into, out = traffic.between(a, v), traffic.into(a), traffic.out_of(v)
        if between < into and between < out:
            return None
        first, second = merging.ends(u, v)
        bound = f"the {format_size(into)} into {first}"
        if between < into:
            bound = f"the {format_size(out)} out of {second}"
        text = direct_reason(merging, u, v).removesuffix(".")
        return f"{text}; the {format_size(between)} between them are no less than {bound}."

    DirectWorklist(merging, NAME, reason, lambda u, v: traffic.merge(head[u], v)).run()


SIZE_AWARE = Rule(
    name=NAME,
    condition=(
        "a → b is contracted when the direct rule allows it and the bytes between them are at least the "
        "bytes into a or at least the bytes out of b."
    ),
    source="Own restriction of the direct rule, which keeps the cheapest cuts",
    apply=apply_size_aware,
    confluent=False,
)
