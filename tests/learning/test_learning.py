"""Training: what a choice brought, that it learns, and that it repeats to the last bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nona.cli.main import main
from nona.errors import SimulationError
from nona.learning.gradient import Adam
from nona.learning.rollouts import Choices, Rollout, advantages, job_seconds
from nona.learning.training import TrainSettings, drawn_system, rollouts_of, trained
from nona.schedulers.learned.card import Ranges, from_text, numbers_of, outside, read_weights
from nona.schedulers.learned.network import first_weights

# Four servers whose link cannot carry what random choices send over it: to stay is learned at once.
LOADED = Ranges(
    servers=(4, 4),
    executors_per_server=(1, 1),
    load=(0.4, 0.5),
    link=(0.5, 0.6),
    crossing=(2.0, 2.5),
    tasks=(4, 6),
)
SHORT = TrainSettings(iterations=40, rollouts=8, jobs=60, rate=2e-2, last_rate=5e-3, ranges=LOADED)


def rollout(arrival_s: list[float], completion_s: list[float], choice_s: list[float]) -> Rollout:
    none = np.zeros(0, dtype=np.int64)
    choices = Choices(none, none, np.array(choice_s), none, none, np.zeros((0, 0)))
    return Rollout(choices, np.array(arrival_s), np.array(completion_s))


def test_job_seconds_by_hand() -> None:
    run = rollout([0.0, 1.0], [3.0, 4.0], [])
    assert job_seconds(run, np.array([0.5, 2.0, 3.5, 9.0])).tolist() == [0.5, 3.0, 5.5, 6.0]


def test_advantages_by_hand() -> None:
    # In the next 2 s from 1 s on: the first has two jobs for 2 s; the second one for 2 s, one for 1 s.
    a, b = rollout([0.0, 1.0], [3.0, 4.0], [1.0]), rollout([0.0, 1.0], [2.0, 3.0], [1.0])
    first, second = advantages([a, b], 2.0)
    assert first[0] == -second[0] == pytest.approx(-1.0)


def test_adam_finds_the_top_of_a_hill() -> None:
    at, adam = np.array([5.0, -3.0]), Adam(2)
    for _ in range(2000):
        adam.step(at, np.array([1.0, 2.0]) - at, 0.01)
    assert at == pytest.approx([1.0, 2.0], abs=1e-3)


def test_runs_of_one_system_have_the_same_arrivals_and_other_choices() -> None:
    system = drawn_system(LOADED, np.random.default_rng(1))
    runs = rollouts_of(system, first_weights(np.random.default_rng(2), 8), SHORT)
    assert all((r.arrival_s == runs[0].arrival_s).all() for r in runs)
    assert len({r.completion_s.tobytes() for r in runs}) == len(runs)
    for r in runs:
        c = r.choices
        assert (np.diff(c.end, prepend=0) >= 2).all(), "a choice of one is none"
        assert (c.taken < c.end).all()
        assert (c.taken >= np.concatenate([[0], c.end[:-1]])).all()
        assert (np.diff(c.time_s) >= 0).all()


@pytest.mark.parametrize("sees_link", [True, False])
def test_a_short_training_improves_on_its_start(sees_link: bool) -> None:
    settings = replace(SHORT, sees_link=sees_link)
    weights, _ = trained(settings)
    start, _ = trained(replace(settings, iterations=1, rate=1e-12))  # it has not moved
    rng = np.random.default_rng(11)  # of no training
    systems = [drawn_system(LOADED, rng) for _ in range(4)]
    runs = [[r for s in systems for r in rollouts_of(s, w, settings)] for w in (start, weights)]
    before, after = (np.mean([r.mean_jct_s for r in group]) for group in runs)
    assert after < 0.75 * before


@pytest.mark.parametrize("sees_link", [True, False])
def test_training_repeats_to_the_bit(sees_link: bool) -> None:
    settings = replace(SHORT, sees_link=sees_link, iterations=4)
    weights, curve = trained(settings)
    again, same = trained(settings)
    assert weights.tobytes() == again.tobytes()
    assert curve.tobytes() == same.tobytes()
    other, _ = trained(replace(settings, seed=2, iterations=2))
    assert other.tobytes() != weights.tobytes()


def test_a_query_of_more_tasks_than_a_number_has_bits_is_refused() -> None:
    system = drawn_system(replace(LOADED, tasks=(51, 51)), np.random.default_rng(1))
    with pytest.raises(SimulationError, match="has 51 tasks, at most 50"):
        rollouts_of(system, first_weights(np.random.default_rng(2), 8), SHORT)


def test_drawn_systems_lie_in_their_ranges() -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        system = drawn_system(Ranges(), rng)
        assert outside(Ranges(), system) == (), numbers_of(system)


def test_the_command_writes_weights_that_can_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.json"
    small = ["--iterations", "2", "--rollouts", "2", "--jobs", "10", "--seed", "3"]
    assert main(["train-decima", "-o", str(file), *small]) == 0
    found = read_weights(file)
    assert (found.card.seed, found.card.iterations, found.card.sees_link) == (3, 2, True)
    assert from_text(found.to_text(), "again").to_text() == file.read_text()
    assert len(file.read_bytes()) < 50_000
    assert main(["train-decima", "-o", str(file), *small]) == 2, "it is not overwritten"
    assert "--force" in capsys.readouterr().err
    assert main(["train-decima", "-o", str(file), *small, "--force", "--hide-link"]) == 0
    assert not read_weights(file).card.sees_link
