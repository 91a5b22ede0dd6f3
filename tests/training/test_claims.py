"""Users' estimates: claims, and their correction by what rounds measured."""

import math

import numpy as np
import pytest

from nona.errors import SimulationError
from nona.random_streams import RandomStreams
from nona.training.beliefs import ClaimBook, Claims, user_of
from nona.training.system import Job


def test_claims_are_log_normal_and_users_are_wrong_alike() -> None:
    streams = RandomStreams(1)
    jobs = [Job(f"j{i}", "A3C", 1) for i in range(3000)]
    logs = np.log([Claims(2.0, 1.0, streams).factor(j, "v100") for j in jobs])
    assert abs(logs.mean()) < 4 * math.log(2) / math.sqrt(3000)
    assert logs.std() == pytest.approx(math.log(2), rel=0.06)
    team = [Job(f"j{i}", "A3C", 1, entity="vision") for i in range(5)]
    shared = {Claims(1.0, 2.0, streams).factor(j, g) for j in team for g in ("k80", "v100")}
    assert len(shared) == 1
    assert shared != {1.0}
    assert user_of(team[0]) == user_of(team[1]) != user_of(jobs[0])


def test_a_factor_below_one_is_refused() -> None:
    with pytest.raises(SimulationError, match=r"error=0.5 is a factor of at least 1"):
        Claims(0.5, 1.0, RandomStreams(1))


def test_corrected_rates_converge_to_the_truth() -> None:
    truth, book = {"k80": 3.0, "v100": 12.0}, ClaimBook(prior=2.0)
    book.claim("a", "anna", {"k80": 9.0, "v100": 6.0})
    errors = []
    for _rounds in range(200):
        errors.append(max(abs(math.log(book.rate("a", g) / truth[g])) for g in truth))
        for g, t in truth.items():
            book.measure("a", g, t)
        assert book.flagged() == ()  # too low on one type, too high on the other: no user is told
    assert errors[-1] < 0.02 < errors[0]


def test_one_users_bias_corrects_what_was_not_measured() -> None:
    book = ClaimBook(prior=1.0)
    for job in "abc":
        book.claim(job, "anna", {"k80": 20.0, "v100": 40.0})
        book.measure(job, "k80", 10.0, rounds=4)
    book.claim("d", "anna", {"v100": 80.0})
    book.claim("e", "ben", {"v100": 80.0})
    assert book.rate("a", "v100") == pytest.approx(20.0)
    assert book.rate("d", "v100") == pytest.approx(40.0)
    assert book.rate("e", "v100") == 80.0
    assert book.flagged() == ("a", "b", "c")


def test_without_correction_a_claim_stays() -> None:
    book = ClaimBook(prior=1.0, correct=False)
    book.claim("a", "anna", {"k80": 20.0, "v100": 0.0})
    book.measure("a", "k80", 5.0, rounds=10)
    assert book.rate("a", "k80") == 20.0
    assert ClaimBook(1.0, claims={("a", "v100"): 0.0}, users={"a": "x"}).rate("a", "v100") == 0.0
