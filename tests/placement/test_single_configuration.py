"""What is quicker for a single configuration equals what does many at once, to the last bit."""

import numpy as np
import pytest
from placement_helpers import random_system
from test_spans import random_shape

from nona.placement.configurations import configuration_labels
from nona.placement.enumeration import candidates
from nona.placement.messages import Candidates, Link
from nona.placement.model import build_model
from nona.placement.spans import single_span, spans


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
@pytest.mark.parametrize(("root", "sink"), [(True, True), (False, True), (True, False), (False, False)])
def test_the_span_of_one_equals_that_of_all(discipline: str, root: bool, sink: bool) -> None:
    for seed in range(6):
        shape = random_shape(seed, 4, root=root, sink=sink)
        c = Candidates(shape, configuration_labels(shape.m), Link(2.0, 0.125, discipline, crosses=seed != 5))
        for wait, server_wait in ((0.0, 0.0), (0.7, 0.3), (5.0, 0.01)):
            every, path = spans(c, wait, server_wait)
            for row in range(0, len(c), 5):
                span, terms = single_span(c, row, wait, server_wait)
                assert span == every[row]
                assert list(terms) == path[:, row].tolist()


@pytest.mark.parametrize("seed", range(4))
def test_squared_visits_with_and_without_plain_numbers(seed: int) -> None:
    """Points where some sub-graphs are decided and others mix."""
    system = random_system(seed, network=0.3, classes=2)
    model = build_model(system, lambda shape, link: candidates(shape, link, system.servers))
    rng = np.random.default_rng(seed)
    for share in (0.0, 0.5, 1.0):
        x, only = [], []
        for row in model.candidates:
            x.append([])
            only.append([])
            for c in row:
                decided = rng.random() >= share
                x[-1].append(
                    np.eye(len(c))[rng.integers(len(c))] if decided else rng.dirichlet(np.ones(len(c)))
                )
                only[-1].append(int(np.argmax(x[-1][-1])) if decided or len(c) == 1 else -1)
        for chains in model.chains:
            for j, chain in enumerate(chains):
                assert chain.squares(x[j], only[j]) == chain.squares(x[j])
