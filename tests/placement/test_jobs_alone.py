"""A job alone on the cluster takes what the formula says, whatever its sources, sinks, skips and caches."""

from pathlib import Path

import numpy as np
import pytest
from idle_cases import (
    Alone,
    alone,
    decoder_with_cache,
    drawn_labels,
    few_away,
    random_node_link,
    run_alone,
    skip_over_cuts,
)

from nona.decomposition import VIRTUAL
from nona.placement.model import shapes
from nona.system import System


def check_sound(system: System) -> None:
    """Every task is a cut or in one interior, and every tensor's way belongs to one sub-graph."""
    query = system.queries[0]
    cuts = [c for c in query.decomposition.cuts if c != VIRTUAL]
    inner = [t for s in query.decomposition.subgraphs for t in s.interior]
    assert sorted(cuts + inner) == list(range(len(query.tasks)))
    assert sum(len(s.source) for s in shapes(system)[0]) == len(query.tasks.edge_source)


def check_times(done: Alone) -> None:
    """The prediction, the story and every simulated job are one time."""
    assert done.predicted_s == pytest.approx(done.story_s, rel=1e-9)
    np.testing.assert_allclose(done.simulated_s, done.predicted_s, rtol=1e-9)


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
def test_random_graphs_with_several_ends(discipline: str) -> None:
    clean = several = 0
    for seed in range(60):
        system = alone(random_node_link(seed), discipline=discipline)
        check_sound(system)
        done = run_alone(system, drawn_labels(np.random.default_rng(seed)), jobs=20)
        if done.clean:
            clean += 1
            several += VIRTUAL in system.queries[0].decomposition.cuts
            check_times(done)
    assert clean >= 40, "most of the jobs must be such that the formula is exact"
    assert several >= 25


def test_a_skip_over_a_task_makes_it_no_cut() -> None:
    system = alone(skip_over_cuts())
    check_sound(system)
    (subgraph,) = system.queries[0].decomposition.subgraphs
    assert len(subgraph.interior) == 5
    clean = 0
    for seed in range(12):
        done = run_alone(system, drawn_labels(np.random.default_rng(seed)), jobs=200)
        clean += done.clean
        if done.clean:
            check_times(done)
    assert clean >= 8


def test_caches_that_are_handed_out_are_sinks(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(decoder_with_cache())
    system = alone(None, tmp_path, capacity="800 Gbit/s")
    check_sound(system)
    query = system.queries[0]
    assert query.decomposition.cuts[-1] == VIRTUAL, "the copies that nobody reads are ends of their own"
    ends = [t for t, after in enumerate(query.tasks.dag.successors) if not after]
    assert len(ends) >= 2
    exact = 0
    for seed in range(20):
        done = run_alone(system, few_away(np.random.default_rng(seed)), jobs=200)
        exact += done.clean
        if done.clean:
            check_times(done)
    assert exact >= 5


@pytest.mark.parametrize("seed", [44, 71, 85, 96, 115])
def test_the_response_is_right_where_a_job_meets_itself(seed: int) -> None:
    """Its messages meet at the link, or its tasks are ready in another order than that of their numbers."""
    system = alone(random_node_link(seed))
    done = run_alone(system, drawn_labels(np.random.default_rng(seed)), jobs=20)
    assert not done.clean
    np.testing.assert_allclose(done.simulated_s, done.response_s(system), rtol=1e-7)
