"""The contraction rules by name, and :func:`contract`."""

from __future__ import annotations

from collections.abc import Sequence

from nona.contraction.contracted import ContractedGraph
from nona.contraction.direct import DIRECT
from nona.contraction.merging import Merging
from nona.contraction.poset import POSET
from nona.contraction.rule import Rule
from nona.contraction.size_aware import SIZE_AWARE
from nona.errors import GraphError
from nona.graph.model import ModelGraph
from nona.graph.text import quote
from nona.registry import Registry

RULES: Registry[Rule] = Registry("Contraction rule", (DIRECT, POSET, SIZE_AWARE), GraphError)
DEFAULT_RULE = POSET.name
#: Not a rule of its own: the default rule, and then what stays together at the cluster's link, which
#: :mod:`nona.placement.coarsening` decides.
COST_AWARE = "cost-aware"


def rule_choices() -> tuple[str, ...]:
    """What a scenario may name as its contraction: every rule, and the cost-aware one.

    >>> rule_choices()
    ('direct', 'poset', 'size-aware', 'cost-aware')
    """
    return (*RULES, COST_AWARE)


def contract(graph: ModelGraph, rule: str = DEFAULT_RULE) -> ContractedGraph:
    """Merge operators that gain nothing from running on different executors.

    Parameters
    ----------
    graph
        The operators and the tensors between them; sizes matter to ``size-aware`` only.
    rule
        A name of :data:`RULES`. With any of them the critical path of the result is that of
        ``graph`` for all operator times (communication being free).

    Returns
    -------
    ContractedGraph
        Tasks, edges, the steps in the order they were taken, and the lift back to operators.

    Raises
    ------
    GraphError
        For an unknown rule.

    Examples
    --------
    >>> from nona.graph.model import Edge, Operator
    >>> arcs = ["ab", "bc", "bd", "ce", "de", "ef"]
    >>> edges = tuple(Edge(u, v, u + v, 8.0) for u, v in arcs)
    >>> small = contract(ModelGraph("g", tuple(Operator(i) for i in "abcdef"), edges))
    >>> [t.operators for t in small.tasks]
    [('a', 'b'), ('c',), ('d',), ('e', 'f')]
    >>> small.steps[0].reason
    "'b' reads from 'a' only; 'a' feeds 'b' only."
    """
    if rule not in RULES:
        raise GraphError(f"Contraction rule {quote(rule)} is unknown; use one of {', '.join(RULES)}.")
    return contract_by(graph, RULES[rule])


def contract_by(graph: ModelGraph, rule: Rule, priority: Sequence[float] | None = None) -> ContractedGraph:
    """:func:`contract` with a rule object, and a priority that sets the order of the steps.

    ``priority`` has a number for every operator: of the edges that may be contracted, the one
    whose producer has the smallest number goes first.
    """
    merging = Merging(graph, priority)
    rule.apply(merging)
    return merging.result(rule.name)
