"""Schedulers look the same on every chart, and can be told apart: by contrast, by marker, by dash."""

import itertools

import numpy as np

from nona.allocation.registry import POLICIES as TRAINING_POLICIES
from nona.gpu_sharing.registry import WAYS
from nona.registry import Look
from nona.report.figures import OVERLOADED_DASH, UNSTABLE_SYMBOL, scheduler_style
from nona.schedulers.registry import SCHEDULERS
from nona.serverless.policies.registry import POLICIES

# Never mixed on one chart.
CHARTS = tuple({t.name: t.look for t in things.values()} for things in (SCHEDULERS, POLICIES, WAYS))
BACKGROUNDS = ("#ffffff", "#0e1120")
# Linear RGB as one without red-green vision sees it (Viénot, Brettel, Mollon 1999).
DEUTERANOPIA = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])


def linear(colour):
    raw = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(raw <= 0.04045, raw / 12.92, ((raw + 0.055) / 1.055) ** 2.4)


def luminance(colour):
    return float(linear(colour) @ (0.2126, 0.7152, 0.0722))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_registered_scheduler_has_a_look_of_its_own():
    for styles in CHARTS:
        assert all(isinstance(look, Look) for look in styles.values())
        assert len({s.symbol for s in styles.values()}) == len(styles)
        assert all(s.dash != OVERLOADED_DASH and s.symbol != UNSTABLE_SYMBOL for s in styles.values())


def test_the_look_of_a_chart_is_the_declared_one():
    for name, declared in (*SCHEDULERS.items(), *POLICIES.items()):
        assert scheduler_style(name) == declared.look
    for way in WAYS.values():
        assert scheduler_style(way.title) == way.look


def test_a_policy_of_training_clusters_looks_as_the_scheduler_of_its_name():
    both = [name for name in TRAINING_POLICIES if name in SCHEDULERS]
    assert both
    for name in both:
        assert TRAINING_POLICIES[name].look == SCHEDULERS[name].look


def test_colours_stand_out_on_both_themes():
    for name, style in [pair for styles in CHARTS for pair in styles.items()]:
        for background in BACKGROUNDS:
            assert contrast(style.colour, background) >= 3.0, (name, background)


def apart(one, other):
    seen = [np.cbrt(np.clip(DEUTERANOPIA @ linear(s.colour), 0, 1)) for s in (one, other)]
    return bool(np.linalg.norm(seen[0] - seen[1]) > 0.08)


def test_like_hues_differ_in_dash_for_eyes_without_red_and_green():
    like = [
        (a, b)
        for styles in CHARTS
        for a, b in itertools.combinations(styles, 2)
        if not apart(styles[a], styles[b]) and styles[a].dash == styles[b].dash
    ]
    assert not like


def test_a_scheduler_from_outside_has_a_look_too():
    assert all(scheduler_style("mine") not in styles.values() for styles in CHARTS)
    assert contrast(scheduler_style("mine").colour, "#ffffff") >= 3.0
