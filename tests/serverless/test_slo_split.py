"""The static split of an SLO: proportional on chains, within the SLO on every path of any DAG."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.graph.dag import Dag
from nona.serverless.policies.choices import split, static_shares
from nona.serverless.system import Application
from tests.serverless.policy_cases import CHAIN, dags, workflow_system

SLO_S = 2.0


def _application(dag: Dag) -> Application:
    n = len(dag)
    return Application("a", ("s",) * n, (0,) * n, dag, (0.0,) * n, SLO_S, 1.0)


def _paths(dag: Dag, stage: int) -> Iterator[tuple[int, ...]]:
    if not dag.successors[stage]:
        yield (stage,)
    for following in dag.successors[stage]:
        for rest in _paths(dag, following):
            yield (stage, *rest)


@examples(150)
@given(dags(), st.data())
def test_shares_along_every_path_are_at_most_the_slo(dag: Dag, data: st.DataObject) -> None:
    n = len(dag)
    weight = np.array(data.draw(st.lists(st.floats(0.01, 10), min_size=n, max_size=n)))
    shares = split(_application(dag), weight)
    paths = [p for s in range(n) if not dag.predecessors[s] for p in _paths(dag, s)]
    totals = [sum(shares[s] for s in path) for path in paths]
    assert max(totals) <= SLO_S * (1 + 1e-12)
    heaviest = max(paths, key=lambda p: sum(weight[s] for s in p))
    assert sum(shares[s] for s in heaviest) == pytest.approx(SLO_S)
    assert min(shares) > 0


def test_a_chain_is_split_in_proportion_to_the_functions_times() -> None:
    system = workflow_system([0.1, 0.3, 0.6], CHAIN, slo_s=SLO_S)
    assert static_shares(system, system.applications[0]) == pytest.approx((0.2, 0.6, 1.2))


def test_a_diamonds_light_branch_gets_a_larger_part_of_what_it_needs() -> None:
    diamond = Dag.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    shares = split(_application(diamond), np.array([1.0, 2.0, 1.0, 1.0]))
    assert shares == pytest.approx((0.5, 1.0, 2 / 3, 0.5))
