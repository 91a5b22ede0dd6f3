"""Matrix completion and the match of a job to a reference model."""

import numpy as np
import pytest

from nona.errors import SimulationError
from nona.random_streams import RandomStreams
from nona.training.pair_estimator import (
    Completion,
    PairEstimates,
    Reference,
    completed,
    matched,
    reference_of,
)
from nona.training.system import AloneKey, PairKey, Throughputs

EXACT = Completion(rank=3, ridge=1e-9, sweeps=2000, tolerance=1e-13)


def _low_rank(rng: np.random.Generator, rows: int = 20, columns: int = 30, rank: int = 3):
    product = rng.random((rows, rank)) @ rng.random((rank, columns))
    return product / product.max()


@pytest.mark.parametrize("seed", range(3))
def test_a_matrix_of_the_given_rank_is_recovered(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = _low_rank(rng)
    known = rng.random(x.shape) < 0.7
    found = completed(x, known, EXACT, np.random.default_rng(seed))
    assert not known.all()
    np.testing.assert_allclose(found, x, atol=1e-5)


def test_known_entries_are_kept_and_all_are_shares() -> None:
    rng = np.random.default_rng(5)
    x, known = rng.random((8, 12)), rng.random((8, 12)) < 0.4
    found = completed(x, known, Completion(), rng)
    np.testing.assert_array_equal(found[known], x[known])
    assert found.min() >= 0
    assert found.max() <= 1


def test_sweeps_bring_hidden_entries_closer() -> None:
    """Hidden entries of a matrix of rank 3 come closer with more sweeps."""
    rng = np.random.default_rng(2)
    x, known = _low_rank(rng), rng.random((20, 30)) < 0.7
    errors = []
    for sweeps in (1, 8, 64):
        how = Completion(rank=3, ridge=1e-9, sweeps=sweeps, tolerance=0)
        hidden = completed(np.where(known, x, 0.5), known, how, np.random.default_rng(1))
        errors.append(float(np.square(hidden - x)[~known].mean()))
    assert errors[-1] < 0.2 * errors[0]


def _reference(seed: int = 3) -> Reference:
    kept = _low_rank(np.random.default_rng(seed), 6, 12)
    return Reference(tuple("abcdef"), ("k80", "v100"), kept)


def test_a_fully_profiled_job_matches_itself() -> None:
    reference = _reference()
    known = np.ones(12, dtype=bool)
    for i in range(6):
        match, row = matched(reference.kept[i], known, reference, Completion(), np.random.default_rng(0))
        assert match == i
        np.testing.assert_array_equal(row, reference.kept[i])


def _table() -> Throughputs:
    rng = np.random.default_rng(4)
    alone = {AloneKey(g, m, 1): float(rng.uniform(1, 9)) for g in ("k80", "v100") for m in "abcde"}
    pairs = {
        PairKey(g, a, b, 1): (alone[g, a, 1] * rng.uniform(0.3, 1), alone[g, b, 1] * rng.uniform(0.3, 1))
        for g in ("k80", "v100")
        for i, a in enumerate("abcde")
        for b in "abcde"[i + 1 :]
    }
    pairs |= {PairKey(g, a, a, 1): (0.5 * alone[g, a, 1],) * 2 for g in ("k80", "v100") for a in "abcde"}
    return Throughputs(alone, pairs)


def test_columns_are_types_of_partners() -> None:
    table = _table()
    reference = reference_of(table, ("k80", "v100"))
    own, other = table.pair("v100", "b", "d", 1)
    row = reference.kept[reference.models.index("b")]
    at = reference.column(1, reference.models.index("d"))
    assert row[at] == pytest.approx(own / table.rate("v100", "b", 1))
    back = reference.kept[reference.models.index("d"), reference.column(1, reference.models.index("b"))]
    assert back == pytest.approx(other / table.rate("v100", "d", 1))
    less = reference.without(0)
    assert less.models == tuple("bcde")
    assert less.kept.shape == (4, 8)
    assert less.kept[0, less.column(1, 2)] == pytest.approx(row[at])


def _estimates(share: float) -> PairEstimates:
    table = _table()
    reference = reference_of(table, ("k80", "v100"))
    return PairEstimates(table, reference, share, Completion(), RandomStreams(1))


def test_with_everything_profiled_estimates_are_the_truth() -> None:
    estimates = _estimates(1.0)
    for a in "abcde":
        for b in "abcde":
            assert estimates.pair("v100", a, b) == pytest.approx(estimates.table.pair("v100", a, b, 1))


def test_a_pair_that_ran_is_known() -> None:
    estimates = _estimates(0.05)
    pairs = [(a, b) for a in "abcde" for b in "abcde" if a < b]
    guessed = [estimates.pair("k80", *p) for p in pairs]
    truth = [estimates.table.pair("k80", *p, 1) for p in pairs]
    assert not np.allclose(guessed, truth)
    for p in pairs:
        estimates.ran(*p)
    assert [estimates.pair("k80", *p) for p in pairs] == truth
    assert [estimates.pair("k80", b, a) for a, b in pairs] == [(y, x) for x, y in truth]


def test_answers_do_not_depend_on_the_order_of_questions() -> None:
    one, other = _estimates(0.2), _estimates(0.2)
    forward = {m: one.match(m) for m in "abcde"}
    assert {m: other.match(m) for m in "edcba"} == forward


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(SimulationError, match="'zebra' has no rate on one GPU"):
        _estimates(0.2).match("zebra")
