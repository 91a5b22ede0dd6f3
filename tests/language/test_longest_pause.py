"""The longest pause of an answer: while a long prompt is computed, all that run wait for its steps."""

import math

import numpy as np
import pytest

from nona.language.records import MeasuredWindow, Requests
from nona.language.run import simulate_once
from nona.language.system import Engine, LanguageSystem, Lengths, RequestClass, StepTimes

STEP_S, PER_TOKEN_S = 0.1, 1e-5  # of a step, and of each prompt token in it
PROMPT = 65_535


def interrupted(budget):
    """An answer of 400 tokens runs when a prompt of 65,535 tokens comes, which gets two."""
    steps = StepTimes(a=STEP_S, c=PER_TOKEN_S)
    engine = Engine("one", "llm", steps, blocks=100_000, budget=budget, sequences=8)
    tokens = np.array([[16, 400], [PROMPT, 2]])
    system = LanguageSystem((engine,), (RequestClass("row", "llm", 1.0, Lengths(tokens)),))
    zeros = np.zeros(2, dtype=np.int64)
    requests = Requests(
        np.array([0.0, 5.0]), zeros, tokens[:, 0], tokens[:, 1], zeros - 1, zeros, np.zeros(2)
    )
    return simulate_once(system, requests, "round-robin", MeasuredWindow(2, steps=1000))


@pytest.mark.parametrize(("budget", "stops"), [(1024, 65), (4096, 17), (8192, 9), (16_384, 5)])
def test_a_long_prompt_stops_an_answer_for_each_of_its_steps(budget, stops):
    """⌈65,535 / (budget − 1)⌉ steps, as one token of each is the answer's."""
    run = interrupted(budget)
    assert math.ceil(PROMPT / (budget - 1)) == stops
    assert np.count_nonzero((run.trace["prefill"] > 0) & (run.trace["decodes"] > 0)) == stops
    answer, asked = run.max_gaps(np.arange(2))
    assert answer == pytest.approx(STEP_S + (budget - 1) * PER_TOKEN_S)
    assert asked == pytest.approx(STEP_S), "its own tokens come one after the other"


def test_who_makes_one_token_pauses_never():
    run = interrupted(8192)
    run.requests.outputs[1] = 1
    assert np.isnan(run.max_gaps(np.array([1]))).all()
