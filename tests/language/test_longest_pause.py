"""The longest pause of an answer: while a long prompt is computed, all that run wait for its steps."""

import math

import numpy as np
import pytest

from nona.language.records import MeasuredWindow, Requests
from nona.language.report.figures import steps_figure
from nona.language.report.tables import pause_text
from nona.language.results import LongestPause
from nona.language.run import simulate_once
from nona.language.system import Engine, LanguageSystem, Lengths, RequestClass, StepTimes
from nona.language.workflows.outcome import steps_shown

STEP_S, PER_TOKEN_S = 0.1, 1e-5  # of a step, and of each prompt token in it
PROMPT = 65_535


def interrupted(budget, order="vllm"):
    """An answer of 400 tokens runs when a prompt of 65,535 tokens comes, which gets two."""
    steps = StepTimes(a=STEP_S, c=PER_TOKEN_S)
    engine = Engine("one", "llm", steps, blocks=100_000, budget=budget, sequences=8, order=order)
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


@pytest.mark.parametrize("budget", [1024, 16_384])
def test_the_pause_in_the_chart_is_one_of_the_steps_with_the_prompt(budget):
    run = interrupted(budget)
    mixed = run.trace[(run.trace["prefill"] > 0) & (run.trace["decodes"] > 0)]
    assert run.times.gap_end_s[0] in mixed["end_s"]
    steps, pause = steps_shown(run)
    (shown,) = [s for s in steps if s.end_s == pause.end_s]
    assert pause.begin_s == pytest.approx(shown.begin_s)
    assert (pause.engine, pause.row, pause.steps, pause.prefill) == (0, 0, 1, budget - 1)
    words = f"{budget - 1:,} tokens of prompts were computed in the same step"
    assert words in pause_text(pause, ("row",))
    (bar,) = [t for t in steps_figure(steps, ["one"], pause, ("row",)).data if "longest" in t.name]
    assert bar.base[0] == pytest.approx(1e3 * pause.begin_s)
    assert bar.x[0] == pytest.approx(1e3 * run.times.max_gap_s[0])


def test_where_prompts_go_first_the_pause_is_all_their_steps():
    run = interrupted(8192, "sglang")
    of_prompt = run.trace[(run.trace["prefill"] > 1000)]
    _, pause = steps_shown(run)
    assert pause.prefill == PROMPT
    assert pause.steps == len(of_prompt) + 1, "and the step of the answer itself"
    assert f"{PROMPT:,} tokens of prompts were computed in {pause.steps} steps" in pause_text(pause, ("row",))


def test_a_pause_says_what_is_known_of_its_cause():
    plain = LongestPause(engine=0, row=0, begin_s=1, end_s=1.5, steps=1, prefill=0, preempted=False)
    text = "The longest pause shown is 500 ms, of an answer of a: a step of answers alone."
    assert pause_text(plain, ["a"]) == text
    put_back = plain.model_copy(update={"steps": 9, "preempted": True})
    assert pause_text(put_back, ["a"]).endswith("the cache was full, and the request was put back.")
    assert pause_text(plain.model_copy(update={"steps": 3}), ["a"]).endswith("of an answer of a.")
