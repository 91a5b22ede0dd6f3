"""A question on the shares of three training jobs."""

from __future__ import annotations

from typing import Any

QUESTION: dict[str, Any] = {
    "workers": {"v100": 1, "k80": 1, "p100": 0},
    "jobs": [
        {"name": "a", "throughputs": {"v100": 40, "k80": 10, "p100": 20}, "remaining_steps": 4000},
        {"name": "b", "throughputs": {"v100": 12, "k80": 4}, "remaining_steps": 1000},
        {"name": "c", "throughputs": {"v100": 100, "k80": 50}, "remaining_steps": 9000},
    ],
    "prices": {"v100": 2.5, "k80": 0.5},
}
PAIRED = {**QUESTION, "pairs": [{"jobs": ["c", "a"], "throughputs": {"v100": [90, 35]}}]}


def changed(**job):
    first, *others = QUESTION["jobs"]
    return {**QUESTION, "jobs": [{**first, **job}, *others]}
